{
  description = "Local search by meaning and by words over your own directories";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "aarch64-darwin"
      ];
      forEach = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      # Several dependencies are not in nixpkgs, so uv installs the wheels that they publish, at the first start.
      program =
        pkgs:
        pkgs.writeShellApplication {
          name = "dirindex";
          runtimeInputs = [
            pkgs.uv
            pkgs.python313
          ];
          text = ''
            export LD_LIBRARY_PATH="${pkgs.lib.makeLibraryPath [ pkgs.stdenv.cc.cc.lib ]}''${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
            exec uv tool run --quiet --python ${pkgs.python313}/bin/python3 --from ${self} dirindex "$@"
          '';
        };
    in
    {
      packages = forEach (pkgs: {
        default = program pkgs;
      });
      apps = forEach (pkgs: {
        default = {
          type = "app";
          program = "${program pkgs}/bin/dirindex";
        };
      });
    };
}
