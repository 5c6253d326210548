"""The files of deploy/: accepted by systemd and by the schemas of Kubernetes and KEDA, confined, without secrets."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from distributions import ROOT
from documents.commands import check_command
from processes.node import run_package
from programs import find_program
from scaling import patient
from symposia.config.celery import QUEUE
from symposia.config.described import describe_settings
from symposia.config.settings import Settings
from symposia.state.redis.keys import DUE
from symposia.tasks.runtime.lanes import lane_queues
from symposia.workers.callbacks import DRAIN_S

SYSTEMD, KUBERNETES = ROOT / "deploy/systemd", ROOT / "deploy/kubernetes"
KEDA = "@kubernetes-models/keda/keda.sh/v1alpha1/index"
UNITS = sorted(it.name for it in SYSTEMD.glob("*.service"))
#: Finds the file that a healthy worker of this container has touched within 30 seconds.
HEALTH_CHECK = 'test "$(find "$SYMPOSIA_DATA_DIR/worker-$(uname -n).alive" -mmin -0.5)"'
#: Versions of Kubernetes whose schemas the manifests meet.
VERSIONS = ("1.29", "1.37")
OWN = re.compile(r"^symposia-(worker|beat|flower|callbacks)$")
SETTINGS = {name for it in describe_settings() for name in it.variables}


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(it) for it in command],
        check=False,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        timeout=patient(30),
    )


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units where systemd looks for them, with a program that exists."""
    folder = Path(shutil.copytree(SYSTEMD, tmp_path / "etc/systemd/system"))
    for path in folder.glob("*.service"):
        path.write_text(path.read_text().replace("/opt/symposia/bin/symposia", "/bin/true"))
    return folder


def verify(*units: Path) -> str:
    path = f"{units[0].parent}:"  # the units of systemd follow
    return run(find_program("systemd-analyze"), "verify", "--man=no", *units, SYSTEMD_UNIT_PATH=path).stderr


def test_systemd_accepts_the_units(units: Path) -> None:
    assert verify(units / "symposia.target", *(units / it for it in UNITS)) == ""


def test_systemd_reads_the_common_settings(units: Path) -> None:
    common = units / "symposia-.service.d/common.conf"
    common.write_text(common.read_text().replace("NoNewPrivileges=", "NoNewPrivilege="))
    assert "Unknown key 'NoNewPrivilege'" in verify(units / "symposia-beat.service")


@pytest.mark.parametrize("name", UNITS)
def test_units_are_confined(units: Path, name: str) -> None:
    """2.0 of 10, where 10 is a service without any confinement."""
    command = ("security", "--offline=true", "--threshold=20", "--no-pager", units / name)
    done = run(find_program("systemd-analyze"), *command, SYSTEMD_UNIT_PATH=f"{units}:")
    assert done.returncode == 0, done.stdout[-200:]


def test_target_starts_every_enabled_unit(units: Path) -> None:
    done = run(find_program("systemctl"), f"--root={units.parents[2]}", "enable", *UNITS, "symposia.target")
    assert done.returncode == 0, done.stderr
    assert sorted(it.name for it in (units / "symposia.target.wants").iterdir()) == UNITS


def test_units_run_commands_that_exist() -> None:
    for name in UNITS:
        (line,) = re.findall(
            r"^ExecStart=/opt/symposia/bin/(.*)$", (SYSTEMD / name).read_text(), re.MULTILINE
        )
        check_command(line.split())


def documents(path: Path) -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load_all(path.read_text())


def manifests() -> list[dict[str, Any]]:
    """All objects that the kustomization names, and the example of the secrets."""
    (kustomization,) = documents(KUBERNETES / "kustomization.yaml")
    files = [*kustomization["resources"], "secrets.example.yaml"]
    assert {*files, "kustomization.yaml"} == {it.name for it in KUBERNETES.glob("*.yaml")}
    return [it for name in files for it in documents(KUBERNETES / name)]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [it for it in manifests() if it["kind"] == kind]


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for it in of_kind("Deployment"):
        yield it["metadata"]["name"], it["spec"]["template"]["spec"]


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_meet_the_schemas_of_kubernetes(version: str) -> None:
    checked = [it for it in manifests() if not it["apiVersion"].startswith("keda.sh/")]
    for it in checked:
        kubernetes_validate.validate(it, version, strict=True)
    assert len(checked) > 10


def test_scaling_meets_the_schemas_of_keda() -> None:
    objects = [it for it in manifests() if it["apiVersion"].startswith("keda.sh/")]
    broken = [json.loads(json.dumps(it).replace('"name"', '"nam"')) for it in objects]
    body = "try { new module[it.kind](it).validate(); return '' } catch (error) { return error.message }"
    answers = run_package("keda-schema", KEDA, body, [*objects, *broken])
    assert [bool(it) for it in answers] == [False, False, True, True]


@pytest.mark.long
def test_kustomization_builds() -> None:
    kubectl = shutil.which("kubectl") or pytest.skip("needs kubectl 1.21 or newer")
    done = run(kubectl, "kustomize", KUBERNETES, HOME="/nonexistent")
    assert done.returncode == 0, done.stderr
    built = list(yaml.safe_load_all(done.stdout))
    assert {it["metadata"].get("namespace", "symposia") for it in built} == {"symposia"}
    named = {it["metadata"]["name"] for it in built if it["kind"] == "ConfigMap"}
    assert len(named) == 2
    assert all(f"name: {name}" in done.stdout.partition("kind: Deployment")[2] for name in named)


def test_scaling_reads_the_queue_and_the_due_index() -> None:
    (scaled,) = of_kind("ScaledObject")
    triggers = {it["name"]: it["metadata"] for it in scaled["spec"]["triggers"]}
    assert sorted(it["listName"] for it in triggers.values()) == sorted([QUEUE, *lane_queues(QUEUE), DUE])
    formula = scaled["spec"]["advanced"]["scalingModifiers"]["formula"]
    assert eval(formula, {"max": max}, dict.fromkeys(triggers, 32)) == len(triggers) - 1  # noqa: S307 - our own file
    assert scaled["spec"]["scaleTargetRef"] == {"name": "symposia-worker"}
    assert scaled["spec"]["minReplicaCount"] >= 1  # the sweep runs in workers


def test_pods_run_commands_that_exist() -> None:
    for _, pod in pods():
        (container,) = pod["containers"]
        check_command(container["args"])
        probes = [container.get(it, {}) for it in ("startupProbe", "readinessProbe", "livenessProbe")]
        commands = [it["exec"]["command"] for it in probes if "exec" in it]
        assert commands in ([], [["sh", "-c", HEALTH_CHECK]] * 3)


def test_all_containers_of_workers_have_one_health_check() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["worker"]
    assert compose["healthcheck"]["test"] == ["CMD-SHELL", HEALTH_CHECK.replace("$", "$$")]
    assert (ROOT / "Dockerfile").read_text().endswith(f" CMD {HEALTH_CHECK}\n")


def test_pods_are_confined() -> None:
    names = []
    for name, pod in pods():
        (container,) = pod["containers"]
        assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 10001)
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"].keys() == {"requests", "limits"}
        names.append(name)
    assert [OWN.fullmatch(it) is not None for it in names] == [True] * 4


def test_worker_is_not_process_one() -> None:
    """Process 1 must reap the orphans of programs that are agents, which a worker does not."""
    (pod,) = [pod for name, pod in pods() if name == "symposia-worker"]
    assert pod["shareProcessNamespace"] is True


def test_a_whole_turn_fits_into_the_stop_of_a_worker() -> None:
    (pod,) = [pod for name, pod in pods() if name == "symposia-worker"]
    unit = (SYSTEMD / "symposia-worker.service").read_text()
    (minutes,) = re.findall(r"^TimeoutStopSec=(\d+)min$", unit, re.MULTILINE)
    assert min(pod["terminationGracePeriodSeconds"], int(minutes) * 60) > Settings().turn_timeout_s


def test_callbacks_are_accepted_while_a_pod_leaves_its_service() -> None:
    (pod,) = [pod for name, pod in pods() if name == "symposia-callbacks"]
    program, seconds = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "sleep"
    assert int(seconds) + DRAIN_S < pod["terminationGracePeriodSeconds"]


def test_beat_runs_once() -> None:
    (beat,) = [it["spec"] for it in of_kind("Deployment") if it["metadata"]["name"] == "symposia-beat"]
    assert (beat["replicas"], beat["strategy"]) == (1, {"type": "Recreate"})


def test_flower_does_not_start_without_authentication() -> None:
    (flower,) = [pod for name, pod in pods() if name == "symposia-flower"]
    (auth,) = [it for it in flower["containers"][0]["env"] if it["name"] == "FLOWER_BASIC_AUTH"]
    assert "optional" not in auth["valueFrom"]["secretKeyRef"]


def test_every_policy_and_service_selects_pods() -> None:
    labels = {
        it["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"] for it in of_kind("Deployment")
    }
    for it in of_kind("Service"):
        assert it["spec"]["selector"]["app.kubernetes.io/name"] in labels
    for it in of_kind("PodDisruptionBudget"):
        assert it["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"] in labels
    restricted = [it["spec"]["podSelector"] for it in of_kind("NetworkPolicy")]
    assert {"matchLabels": {"app.kubernetes.io/part-of": "symposia"}} in restricted


def test_secrets_have_no_values_and_are_all_named() -> None:
    secrets = {it["metadata"]["name"]: it["stringData"] for it in of_kind("Secret")}
    assert {value for values in secrets.values() for value in values.values()} == {""}
    containers = [it for _, pod in pods() for it in pod["containers"]]
    used = {it["secretRef"]["name"] for one in containers for it in one["envFrom"] if "secretRef" in it}
    referred = [
        it["valueFrom"]["secretKeyRef"] for one in containers for it in one["env"] if "valueFrom" in it
    ]
    targets = [it for auth in of_kind("TriggerAuthentication") for it in auth["spec"]["secretTargetRef"]]
    assert all(it["key"] in secrets[it["name"]] for it in [*referred, *targets])
    used |= {it["name"] for it in [*referred, *targets]}
    assert used == secrets.keys()
    assert all(it["kind"] != "Secret" for name in kustomized() for it in documents(KUBERNETES / name))
    examples = (SYSTEMD / "symposia.env.example").read_text()
    assert set(re.findall(r"^#?[A-Z_]+=(.*)$", examples, re.MULTILINE)) == {""}


def test_beat_and_flower_get_no_secrets_of_agents() -> None:
    granted = {
        name: {it["secretRef"]["name"] for it in pod["containers"][0]["envFrom"] if "secretRef" in it}
        for name, pod in pods()
    }
    with_agents = {"symposia", "symposia-agents"}
    assert granted == {
        "symposia-worker": with_agents,
        "symposia-callbacks": with_agents,
        "symposia-beat": {"symposia"},
        "symposia-flower": {"symposia"},
    }


def kustomized() -> list[str]:
    (kustomization,) = documents(KUBERNETES / "kustomization.yaml")
    return list(kustomization["resources"])


@pytest.mark.parametrize(
    "path", ["kubernetes/settings.env", "kubernetes/secrets.example.yaml", "systemd/symposia.env.example"]
)
def test_named_settings_exist(path: str) -> None:
    named = set(re.findall(r"SYMPOSIA_[A-Z_]+", (ROOT / "deploy" / path).read_text()))
    assert named
    assert named <= SETTINGS
