class Dirindex < Formula
  include Language::Python::Virtualenv

  desc "Local search by meaning and by words over your own directories"
  homepage "@url@"
  url "@url@/@wheel@"
  version "@version@"
  sha256 "@wheel_sha256@"
  license all_of: ["MIT", "AGPL-3.0-only"]

  depends_on "python@3.13"

  resource "manual" do
    url "@url@/@manual@"
    sha256 "@manual_sha256@"
  end

  def install
    virtualenv_create(libexec, "python3.13", without_pip: false)
    wheel = buildpath/"@wheel@"
    cp cached_download, wheel unless wheel.exist?
    system libexec/"bin/python", "-m", "pip", "install", "--only-binary", ":all:", wheel
    bin.install_symlink libexec/"bin/dirindex"
    resource("manual").stage do
      man1.install Dir["man1/*.1"]
      bash_completion.install "completions/dirindex.bash" => "dirindex"
      zsh_completion.install "completions/_dirindex"
      fish_completion.install "completions/dirindex.fish"
    end
  end

  test do
    (testpath/"notes/keys.md").write "# Keys\n\nWe rotate the signing keys every March.\n"
    ENV["DIRINDEX_DATA_DIR"] = testpath/"index"
    system bin/"dirindex", "index", testpath/"notes"
    assert_match "keys.md", shell_output("#{bin}/dirindex search 'when are keys rotated'")
  end
end
