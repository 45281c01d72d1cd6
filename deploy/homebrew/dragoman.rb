# The formula of a release: `npm run tarball` fills in what is between @ signs. For a tap, it goes to Formula/dragoman.rb.
class Dragoman < Formula
  desc "Server for language models: every chat protocol in front, any engine behind"
  homepage "@HOMEPAGE@"
  url "@URL@/dragoman-@VERSION@.tgz"
  sha256 "@PACKAGE_SHA256@"
  license "Apache-2.0"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  service do
    run [opt_bin/"dragoman", "serve"]
    keep_alive crashed: true
    log_path var/"log/dragoman.log"
    error_log_path var/"log/dragoman.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/dragoman --version")
  end
end
