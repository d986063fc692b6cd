"""Parts of a release beside the wheel: manual pages, completions, a bill of materials, files of package managers."""
