"""Walking of directory trees: the files below a root, and the rules that exclude the others."""
