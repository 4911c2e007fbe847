"""compose.yml against services.toml: whichever of the two runs, ports and settings are the same."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "kafka_docker"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yml").read_text())
CONTRACT: dict[str, Any] = tomllib.loads((FOLDER / "services.toml").read_text())
README = FOLDER / "README.md"

SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PROFILES = sorted({profile for service in SERVICES.values() for profile in service.get("profiles", [])})
BIND = f"${{ALLUVIUM_BIND:-{CONTRACT['host']}}}"
ONE_JOB_A_RUN = {"app"}

# Keys of services.toml that a container has no use for: its image brings the software, Docker waits and keeps the log.
EMBEDDED_ONLY = {"jars", "plugins", "ready_timeout_s", "stop_timeout_s", "log_levels", "run_as", "template"}
COMPARED = {"port", "ports", "settings", "heap", "needs", "api", "user", "database", "worker_cores", "worker_memory"}
# Between the broker and itself.
UNPUBLISHED = {("kafka", "controller")}
# How the containers find each other; the embedded services know these from their addresses.
KAFKA_WIRING = {
    "listeners",
    "advertised.listeners",
    "listener.security.protocol.map",
    "inter.broker.listener.name",
    "controller.listener.names",
    "controller.quorum.voters",
    "process.roles",
    "node.id",
    "log.dirs",
    "heap.opts",
}
CONNECT_WIRING = {"BOOTSTRAP_SERVERS", "ADVERTISED_HOST_NAME", "HEAP_OPTS", "ALLUVIUM_POSTGRES_PASSWORD"}
# How a connector gets a password: by a variable of the container; from a file, embedded.
CONNECT_PROVIDERS = "CONFIG_PROVIDERS"
# The entrypoint of Debezium's image sets the CONNECT_ form of these from the bare form, or else from its own default.
CONNECT_BARE = {
    "GROUP_ID",
    "CONFIG_STORAGE_TOPIC",
    "OFFSET_STORAGE_TOPIC",
    "STATUS_STORAGE_TOPIC",
    "OFFSET_FLUSH_INTERVAL_MS",
    "KEY_CONVERTER",
    "VALUE_CONVERTER",
}


def contract(name: str) -> dict[str, Any]:
    own: dict[str, Any] = CONTRACT["services"][name]
    template: dict[str, Any] = CONTRACT["templates"][own["template"]] if "template" in own else {}
    return template | own


def members(name: str) -> dict[str, dict[str, Any]]:
    """The containers that together are one service of services.toml: spark is a master and its workers."""
    return {each: service for each, service in SERVICES.items() if each == name or each.startswith(f"{name}-")}


def only(name: str) -> dict[str, Any]:
    (service,) = members(name).values()
    return service


def as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def java_properties(options: str, prefix: str = "") -> dict[str, str]:
    return dict(re.findall(rf"-D{re.escape(prefix)}([^\s=]+)=(\S+)", options))


def kafka_settings(service: dict[str, Any]) -> dict[str, str]:
    """The image's rule: `_` is a dot, `__` an underscore, `___` a dash."""
    found = {}
    for variable, value in service["environment"].items():
        words = variable.removeprefix("KAFKA_").lower().replace("___", "-").replace("__", "\0")
        found[words.replace("_", ".").replace("\0", "_")] = value
    return {key: value for key, value in found.items() if key not in KAFKA_WIRING}


def connect_settings(service: dict[str, Any]) -> dict[str, str]:
    environment = service["environment"]
    bare = {name: value for name, value in environment.items() if name in CONNECT_BARE}
    prefixed = {name[len("CONNECT_") :]: value for name, value in environment.items() if name.startswith("CONNECT_")}
    assert set(environment) - CONNECT_BARE - CONNECT_WIRING - {f"CONNECT_{name}" for name in prefixed} == set()
    effective = {name: value for name, value in prefixed.items() if name not in CONNECT_BARE} | bare
    effective = {name: value for name, value in effective.items() if not name.startswith(CONNECT_PROVIDERS)}
    return {name.lower().replace("_", "."): value for name, value in effective.items()}


def postgres_settings(service: dict[str, Any]) -> dict[str, str]:
    program, *options = service["command"]
    assert program == "postgres"
    assert set(options[::2]) == {"-c"}
    return dict(option.split("=", 1) for option in options[1::2])


def registry_settings(service: dict[str, Any]) -> dict[str, str]:
    return java_properties(service["environment"]["JAVA_OPTS_APPEND"], "apicurio.rules.global.")


def spark_settings(service: dict[str, Any]) -> dict[str, str]:
    return java_properties(service["environment"]["SPARK_DAEMON_JAVA_OPTS"])


SETTINGS_OF = {
    "kafka": kafka_settings,
    "connect": connect_settings,
    "postgres-source": postgres_settings,
    "postgres-lake": postgres_settings,
    "postgres-target": postgres_settings,
    "registry": registry_settings,
    "spark": spark_settings,
}
HEAP_VARIABLES = {
    "kafka": "KAFKA_HEAP_OPTS",
    "connect": "HEAP_OPTS",
    "registry": "JAVA_OPTS_APPEND",
    "spark": "SPARK_DAEMON_MEMORY",
}


def published(name: str) -> list[str]:
    return [port for service in members(name).values() for port in service.get("ports", [])]


def publication(service: str, key: str, port: int) -> str:
    """Bound to the settable address, and moved by the variable that moves the embedded service."""
    variable = "_".join(filter(None, ["alluvium", service, key, "port"])).upper().replace("-", "_")
    return f"{BIND}:${{{variable}:-{port}}}:{port}"


@pytest.mark.parametrize("name", CONTRACT["services"])
def test_every_key_of_a_service_is_compared_or_known_to_be_for_the_embedded_one(name: str) -> None:
    assert set(contract(name)) - COMPARED - EMBEDDED_ONLY == set()


def test_nothing_else_in_the_contract_is_left_uncompared() -> None:
    assert set(CONTRACT) == {"host", "jvm", "templates", "services"}


@pytest.mark.parametrize("name", CONTRACT["services"])
def test_settings_are_the_same_in_both_directions(name: str) -> None:
    wanted = {key: as_text(value) for key, value in contract(name)["settings"].items()}
    assert members(name), f"services.toml has {name}, compose.yml does not"
    for container, service in members(name).items():
        assert SETTINGS_OF[name](service) == wanted, container


@pytest.mark.parametrize("name", CONTRACT["services"])
def test_published_ports_are_the_same(name: str) -> None:
    further = {key: port for key, port in contract(name).get("ports", {}).items() if (name, key) not in UNPUBLISHED}
    wanted = [publication(name, key, port) for key, port in ({"": contract(name)["port"]} | further).items()]
    assert sorted(published(name)) == sorted(wanted)


def test_the_servers_listen_inside_on_the_ports_that_are_published() -> None:
    kafka = only("kafka")["environment"]
    ports = contract("kafka")
    controller = ports["ports"]["controller"]
    assert kafka["KAFKA_LISTENERS"] == f"HOST://:{ports['port']},INTERNAL://:29092,CONTROLLER://:{controller}"
    assert kafka["KAFKA_CONTROLLER_QUORUM_VOTERS"] == f"{kafka['KAFKA_NODE_ID']}@localhost:{controller}"
    assert only("registry")["environment"]["QUARKUS_HTTP_PORT"] == str(contract("registry")["port"])
    for name in [each for each in CONTRACT["services"] if each.startswith("postgres-")]:
        assert only(name)["environment"]["PGPORT"] == str(contract(name)["port"])


def test_kafka_tells_its_clients_the_address_and_port_that_they_can_reach() -> None:
    advertised = only("kafka")["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(",")
    assert advertised == [
        f"HOST://${{KAFKA_ADVERTISED_HOST:-localhost}}:${{ALLUVIUM_KAFKA_PORT:-{contract('kafka')['port']}}}",
        "INTERNAL://kafka:29092",
    ]


@pytest.mark.parametrize("name", [name for name in CONTRACT["services"] if "heap" in contract(name)])
def test_heaps_are_the_same(name: str) -> None:
    for service in members(name).values():
        assert re.findall(r"(?:^|-Xmx)(\d+[mg])\b", service["environment"][HEAP_VARIABLES[name]]) == [
            contract(name)["heap"]
        ]


@pytest.mark.parametrize("name", [name for name in CONTRACT["services"] if "database" in contract(name)])
def test_databases_and_their_owners_are_the_same(name: str) -> None:
    environment = only(name)["environment"]
    assert (environment["POSTGRES_DB"], environment["POSTGRES_USER"]) == (
        contract(name)["database"],
        contract(name)["user"],
    )


@pytest.mark.parametrize("name", [name for name in CONTRACT["services"] if "needs" in contract(name)])
def test_a_service_waits_for_those_it_needs(name: str) -> None:
    assert set(contract(name)["needs"]) <= set(only(name)["depends_on"])


def test_the_ui_looks_for_the_registry_where_its_api_is() -> None:
    registry = contract("registry")
    found = SERVICES["ui"]["environment"]["KAFKA_CLUSTERS_0_SCHEMAREGISTRY"]
    assert found == f"http://registry:{registry['port']}{registry['api']}"


def test_the_cluster_has_the_same_workers() -> None:
    spark = contract("spark")
    master, *workers = members("spark").values()
    assert master["command"] == [
        "--host", "spark-master", "--port", str(spark["port"]), "--webui-port", str(spark["ports"]["ui"]),
    ]  # fmt: skip
    offers = [dict(zip(worker["command"][:-1:2], worker["command"][1::2], strict=True)) for worker in workers]
    assert [(offer["--cores"], offer["--memory"], offer["--webui-port"]) for offer in offers] == [
        (str(spark["worker_cores"]), spark["worker_memory"], str(port))
        for key, port in spark["ports"].items()
        if key.startswith("worker-")
    ]
    assert {worker["command"][-1] for worker in workers} == {f"spark://spark-master:{spark['port']}"}


def locked(artifact: str) -> str:
    lock = (ROOT / "conf" / "jars.lock").read_text()
    (version,) = set(re.findall(rf"^{re.escape(artifact)}[^:]*:([^:\s]+)", lock, re.MULTILINE))
    return str(version)


@pytest.mark.parametrize(
    ("name", "artifact"),
    [
        ("kafka", "org.apache.kafka:kafka_2.13"),
        ("registry", "io.apicurio:apicurio-registry-app"),
        ("connect", "io.debezium:debezium-connector-postgres"),
        ("postgres-source", "io.zonky.test.postgres:embedded-postgres-binaries-"),
    ],
)
def test_an_image_has_the_version_of_the_embedded_service(name: str, artifact: str) -> None:
    # The PostgreSQL binaries count their own builds behind PostgreSQL's version.
    version = locked(artifact).removesuffix(".0") if name.startswith("postgres") else locked(artifact)
    assert only(name)["image"].rpartition(":")[2] == version


def images() -> list[str]:
    bases = re.findall(r"^FROM (\S+:\S+)", (FOLDER / "Dockerfile").read_text(), re.MULTILINE)
    assert bases
    return sorted({service["image"] for service in SERVICES.values()} | set(bases))


@pytest.mark.parametrize("image", images())
def test_every_image_is_pinned_to_a_release(image: str) -> None:
    assert re.fullmatch(r"[a-z0-9./-]+:(v?\d+\.\d+(\.\d+)*([.-]\w+)*|RELEASE\.\d{4}-\d\d-\d\dT[\d-]+Z)", image)


def every_publication() -> list[tuple[str, str]]:
    return [(name, port) for name, service in SERVICES.items() for port in service.get("ports", [])]


@pytest.mark.parametrize(("name", "port"), every_publication())
def test_every_port_is_published_on_the_settable_address_only(name: str, port: str) -> None:
    assert re.fullmatch(rf"{re.escape(BIND)}:\$\{{ALLUVIUM_[A-Z0-9_]+_PORT:-\d+\}}:\d+", port)


def test_no_two_containers_publish_the_same_port() -> None:
    """Any two: profiles may be combined at will."""
    variables_and_ports = [re.search(r"(ALLUVIUM_\w+_PORT):-(\d+)", port) for _, port in every_publication()]
    for group in (1, 2):
        found = [match.group(group) for match in variables_and_ports if match]
        assert len(found) == len(every_publication())
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("name", SERVICES)
def test_every_server_says_whether_it_is_well(name: str) -> None:
    assert ("healthcheck" in SERVICES[name]) == (name not in ONE_JOB_A_RUN)


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if "depends_on" in service])
def test_whatever_a_container_waits_for_runs_in_all_its_profiles(name: str) -> None:
    for needed, condition in SERVICES[name]["depends_on"].items():
        assert condition == {"condition": "service_healthy"}
        profiles = SERVICES[needed].get("profiles")
        assert profiles is None or set(SERVICES[name]["profiles"]) <= set(profiles), needed


def test_named_volumes_are_declared_and_used() -> None:
    mounted = [volume for service in SERVICES.values() for volume in service.get("volumes", [])]
    sources = {re.sub(r"\$\{\w+:-(\w+)\}", r"\1", volume).split(":")[0] for volume in mounted}
    assert sources == set(COMPOSE["volumes"])


def test_every_secret_is_one_for_demonstrations_that_the_environment_replaces() -> None:
    secrets = {
        f"{name}.{variable}": value
        for name, service in SERVICES.items()
        for variable, value in service.get("environment", {}).items()
        if re.search("PASSWORD|SECRET|TOKEN|ACCESS_KEY", variable)
    }
    assert secrets
    assert {
        key: value for key, value in secrets.items() if not re.fullmatch(r"\$\{ALLUVIUM_\w+:-alluvium\}", value)
    } == {}


def test_the_readme_knows_every_profile_and_no_other() -> None:
    _, _, section = README.read_text().partition("\n## With Docker\n")
    assert set(re.findall(r"--profile[ =]([\w-]+)", section)) - set(PROFILES) == set()
    assert set(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)) == set(PROFILES)


@pytest.fixture(scope="module")
def command() -> list[str]:
    for candidate in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(candidate[0]):
            # A docker client without the compose plugin takes `compose` for an unknown command.
            asked = subprocess.run([*candidate, "version"], capture_output=True, check=False)
            if asked.returncode == 0:
                return candidate
    pytest.skip("neither `docker compose` nor `docker-compose` here; install Docker's compose plugin or docker-compose")


def resolved(command: list[str], profiles: list[str], **environment: str) -> dict[str, Any]:
    chosen = [argument for profile in profiles for argument in ("--profile", profile)]
    done = subprocess.run(
        [*command, "-f", FOLDER / "compose.yml", *chosen, "config"],
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARN" not in done.stderr
    return dict(yaml.safe_load(done.stdout)["services"])


def ports_of(service: dict[str, Any]) -> list[str]:
    """`docker-compose` 1.29 prints strings, `docker compose` mappings."""
    return [
        f"{port['host_ip']}:{port['published']}:{port['target']}"
        if isinstance(port, dict)
        else port.removesuffix("/tcp")
        for port in service["ports"]
    ]


@pytest.mark.parametrize("profiles", [[], *([profile] for profile in PROFILES), PROFILES], ids="+".join)
def test_compose_accepts_every_profile(command: list[str], profiles: list[str]) -> None:
    found = resolved(command, profiles)
    enabled = {name for name, service in SERVICES.items() if set(service.get("profiles", profiles)) & set(profiles)}
    assert enabled | {"kafka"} <= set(found)
    assert ports_of(found["kafka"]) == ["127.0.0.1:9092:9092"]


def test_remote_clients_are_served_on_purpose(command: list[str]) -> None:
    moved = {"ALLUVIUM_BIND": "0.0.0.0", "KAFKA_ADVERTISED_HOST": "broker.example.org", "ALLUVIUM_KAFKA_PORT": "19092"}  # noqa: S104
    kafka = resolved(command, [], **moved)["kafka"]
    assert ports_of(kafka) == ["0.0.0.0:19092:9092"]
    assert kafka["environment"]["KAFKA_ADVERTISED_LISTENERS"].startswith("HOST://broker.example.org:19092,")


def test_the_application_s_folder_may_be_one_of_the_user_s(command: list[str], tmp_path: Path) -> None:
    (mounted,) = resolved(command, ["app"], ALLUVIUM_VAR=str(tmp_path))["app"]["volumes"]
    source = mounted["source"] if isinstance(mounted, dict) else mounted.split(":")[0]
    assert source == str(tmp_path)
