"""The files in deploy/ say what dirindex understands, and fit together."""

from __future__ import annotations

import json
import plistlib
import re
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import typer
import yaml

from directory_indexer.cli.command_line import cli
from directory_indexer.config.settings import KEYS, settings_in_environment
from directory_indexer.core.errors import UsageError
from directory_indexer.server.middleware.access import read_token
from directory_indexer.server.rest.operation_table import OPERATIONS

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
BASE, OPENSHIFT = DEPLOY / "kubernetes/base", DEPLOY / "kubernetes/openshift"
TASK = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
PORT = 8765


def manifest(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def task() -> ET.Element:
    return ET.parse(DEPLOY / "windows/dirindex.xml").getroot()  # noqa: S314 - it is ours


def container() -> Any:
    (one,) = manifest(BASE / "deployment.yaml")["spec"]["template"]["spec"]["containers"]
    return one


def dockerfile(instruction: str) -> str:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    *_, last = re.findall(rf"^{instruction} (.*)$", text, re.MULTILINE)
    return str(last)


def launches() -> dict[str, list[str]]:
    """Give how each file starts dirindex."""
    found = {"Dockerfile": json.loads(dockerfile("CMD")), "Kubernetes": container()["args"]}
    for unit in sorted(DEPLOY.glob("systemd/*/*.service")):
        (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
        found[str(unit.relative_to(DEPLOY))] = shlex.split(line)[1:]
    found["launchd"] = plistlib.loads((DEPLOY / "launchd/io.github.dirindex.plist").read_bytes())["ProgramArguments"][
        1:
    ]
    arguments = task().findtext(f".//{TASK}Arguments")
    found["Task Scheduler"] = shlex.split(str(arguments).replace("\\", "/"))
    return found


@pytest.mark.parametrize("place", launches())
def test_what_is_started_is_a_command_with_options_that_there_are(place: str) -> None:
    name, *arguments = launches()[place]
    command: Any = typer.main.get_command(cli)
    known = {option for one in command.commands[name].params for option in (*one.opts, *one.secondary_opts)}
    assert {one for one in arguments if one.startswith("--")} <= known


def test_what_is_configured_is_a_key_of_the_configuration() -> None:
    services = manifest(DEPLOY / "compose.yaml")["services"]
    configured = {**manifest(BASE / "configmap.yaml")["data"], **services["dirindex"]["environment"]}
    settings = settings_in_environment({name: str(value) for name, value in configured.items()})
    assert len(settings) == sum(name.startswith("DIRINDEX_") for name in configured)
    for one in settings:
        assert one.key in KEYS
        assert not list(KEYS[one.key].type.issues(one.value)), one


def test_probes_ask_what_is_answered_without_a_key_and_by_whatever_name() -> None:
    probes = {one.path for one in OPERATIONS if one.is_probe}
    asked = {container()[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
    assert asked == {"/livez", "/readyz"}
    assert asked <= probes
    assert f"http://127.0.0.1:{PORT}/livez" in dockerfile("HEALTHCHECK")


def test_ports_and_names_agree() -> None:
    deployment, service, route = (
        manifest(path) for path in (BASE / "deployment.yaml", BASE / "service.yaml", OPENSHIFT / "route.yaml")
    )
    assert container()["ports"] == [{"name": "http", "containerPort": PORT}]
    assert service["spec"]["ports"][0]["targetPort"] == route["spec"]["port"]["targetPort"] == "http"
    assert route["spec"]["to"]["name"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert manifest(BASE / "networkpolicy.yaml")["spec"]["podSelector"]["matchLabels"] == service["spec"]["selector"]
    assert dockerfile("EXPOSE") == str(PORT)
    assert route["spec"]["host"] == manifest(BASE / "configmap.yaml")["data"]["PUBLIC_HOST"]


def test_what_is_mounted_is_there() -> None:
    pod = manifest(BASE / "deployment.yaml")["spec"]["template"]["spec"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert {one["name"] for one in container()["volumeMounts"]} == volumes.keys()
    assert volumes["data"]["persistentVolumeClaim"]["claimName"] == manifest(BASE / "pvc.yaml")["metadata"]["name"]
    secret = manifest(BASE / "secret.yaml")
    assert volumes["token"]["secret"]["secretName"] == secret["metadata"]["name"]
    assert volumes["token"]["secret"]["defaultMode"] == 0o440
    assert container()["envFrom"][0]["configMapRef"]["name"] == manifest(BASE / "configmap.yaml")["metadata"]["name"]


def test_nobody_serves_with_the_token_that_stands_in_the_manifest(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(manifest(BASE / "secret.yaml")["stringData"]["token"])
    token.chmod(0o600)
    with pytest.raises(UsageError, match="at least 16"):
        read_token(token, {})


def test_the_pod_may_do_nothing_that_it_need_not() -> None:
    pod = manifest(BASE / "deployment.yaml")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    rights = container()["securityContext"]
    assert rights == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert dockerfile("USER") == "1001:0"
    compose = manifest(DEPLOY / "compose.yaml")["services"]["dirindex"]
    assert compose["read_only"]
    assert compose["cap_drop"] == ["ALL"]


@pytest.mark.parametrize("place", [BASE, OPENSHIFT])
def test_a_kustomization_names_files_and_fields_that_there_are(place: Path) -> None:
    kustomization = manifest(place / "kustomization.yaml")
    for resource in kustomization["resources"]:
        assert (place / resource).exists()
    manifests = {one["kind"]: one for one in map(manifest, (*BASE.glob("*.yaml"), *OPENSHIFT.glob("route.yaml")))}
    for patch in kustomization.get("patches", ()):
        for operation in yaml.safe_load(patch["patch"]):
            target: Any = manifests[patch["target"]["kind"]]
            *parents, last = operation["path"].strip("/").split("/")
            for name in parents:
                target = target[int(name) if isinstance(target, list) else name]
            assert last == "-" or last in target


def test_no_secret_gets_into_the_context_of_the_image() -> None:
    ignored, *allowed = [
        line
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert ignored == "*"
    assert {one for one in allowed if one.startswith("!")} == {
        *("!pyproject.toml", "!README.md", "!LICENSE", "!directory_indexer"),
    }


def test_the_agent_of_macos_and_the_task_of_windows_are_what_their_systems_read() -> None:
    agent = plistlib.loads((DEPLOY / "launchd/io.github.dirindex.plist").read_bytes())
    assert agent["Label"] == "io.github.dirindex"
    assert agent["Umask"] == 0o077
    order = ["RegistrationInfo", "Triggers", "Principals", "Settings", "Actions"]
    assert [one.tag for one in task()] == [f"{TASK}{name}" for name in order]
    assert task().findtext(f".//{TASK}RunLevel") == "LeastPrivilege"
