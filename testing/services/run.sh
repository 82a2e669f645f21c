#!/usr/bin/env bash
# Starts the services that tests need, runs a command with their addresses in its environment, and
# stops them:
#
#     testing/services/run.sh light COMMAND…       the services that are quickly built and started
#     testing/services/run.sh all COMMAND…         all services
#     testing/services/run.sh s3,dynamodb COMMAND…
#
# Each service is a row in the table below and a function start_NAME. The function starts the
# service in the background and exports its address. If the service isn't installed, it calls
# missing and returns 0. Tests that need the service are then skipped, or fail if REQUIRE_SERVICES=1
# is set. testing/setup.sh and `make services` install the services that can be installed
# automatically.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
installed=$root/build/services

# name      weight
table="
postgres    light
s3          light
dynamodb    light
kms         light
azure       light
gcs         light
consul      heavy
kubernetes  heavy
bind        heavy
"

cleanup=()
stop_all() {
	local command
	for command in ${cleanup[@]+"${cleanup[@]}"}; do eval "$command" || true; done
}
trap stop_all EXIT

# All files of the services are in one directory. It is below /tmp because socket paths must be
# short.
dir=$(mktemp -d /tmp/services.XXXXXX)
chmod 711 "$dir"
cleanup+=("rm -rf $dir")

missing() { echo "$1 is not installed, so there is no server for its tests" >&2; }

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# background NAME PORT COMMAND…: starts a server and waits until it accepts connections on the port.
background() {
	local name=$1 port=$2 i
	shift 2
	"$@" >"$dir/$name.log" 2>&1 &
	cleanup=("kill $! 2>/dev/null; wait $! 2>/dev/null" "${cleanup[@]}")
	for ((i = 0; i < 300; i++)); do
		if (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null; then return 0; fi
		if ! kill -0 $! 2>/dev/null; then break; fi
		sleep 0.1
	done
	printf 'the service %s does not start:\n' "$name" >&2
	tail -n 20 "$dir/$name.log" >&2
	return 1
}

# ---- services

# PostgreSQL on a Unix socket. PostgreSQL refuses to run as root, so root runs it as the user
# postgres, which its package created.
start_postgres() {
	local bin data=$dir/postgres
	local as=()
	bin=$(compgen -G '/usr/lib/postgresql/*/bin' | sort -V | tail -n 1) || {
		missing PostgreSQL
		return 0
	}
	mkdir "$data"
	if [ "$(id -u)" = 0 ]; then
		as=(runuser -u postgres --)
		chown postgres "$data"
	fi
	chmod 711 "$data"
	# Change to /, because the user postgres may not be allowed to read the repository.
	(cd / && "${as[@]}" "$bin/initdb" -D "$data/data" -U postgres -A trust --no-sync) >"$data.log" 2>&1 ||
		{ cat "$data.log" >&2; return 1; }
	cleanup=("cd / && ${as[*]} $bin/pg_ctl -D $data/data -m immediate stop >/dev/null" "${cleanup[@]}")
	(cd / && "${as[@]}" "$bin/pg_ctl" -D "$data/data" -l "$data/log" -w -o "-c listen_addresses='' -c fsync=off -k $data" start) >>"$data.log" 2>&1 ||
		{ cat "$data.log" "$data/log" >&2; return 1; }
	export TEST_POSTGRES_URL="postgres://postgres@/postgres?host=$data"
}

# BIND with the zone realworld.test, which the key "tofu." may change. The variable has the port and
# the secret of the key.
start_bind() {
	local port secret named
	named=$(PATH=$PATH:/usr/sbin command -v named) || { missing "BIND (Debian's bind9)"; return 0; }
	port=$(free_port)
	secret=$(head -c 32 /dev/urandom | base64)
	mkdir "$dir/bind"
	printf '$TTL 300\n@ SOA ns admin 1 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\n' >"$dir/bind/realworld.test"
	cat >"$dir/bind/named.conf" <<-EOF
		options {
			directory "$dir/bind"; pid-file "$dir/bind/pid"; session-keyfile "$dir/bind/session.key";
			listen-on port $port { 127.0.0.1; }; listen-on-v6 { none; };
			recursion no; dnssec-validation no;
		};
		controls { };
		key "tofu." { algorithm hmac-sha256; secret "$secret"; };
		zone "realworld.test" {
			type primary; file "realworld.test"; update-policy { grant tofu. zonesub ANY; };
		};
	EOF
	background bind "$port" "$named" -c "$dir/bind/named.conf" -g -n 1
	export TEST_BIND="$port $secret"
}

# S3: the gateway versitygw, which stores objects in a directory. The URL contains the access key
# and the secret key of the administrator.
start_s3() {
	local port
	[ -x "$installed/bin/versitygw" ] || { missing versitygw; return 0; }
	port=$(free_port)
	mkdir "$dir/s3" "$dir/s3/data" "$dir/s3/users" "$dir/s3/attributes"
	background s3 "$port" "$installed/bin/versitygw" --quiet --access tester --secret verysecret \
		--port "127.0.0.1:$port" --iam-dir "$dir/s3/users" posix --sidecar "$dir/s3/attributes" "$dir/s3/data"
	# A user with only those permissions that the policy of a bucket grants.
	"$installed/bin/versitygw" admin --access tester --secret verysecret --endpoint-url "http://127.0.0.1:$port" \
		create-user --access reader --secret readersecret --role user >/dev/null
	export TEST_S3_URL="http://tester:verysecret@127.0.0.1:$port"
}

# DynamoDB: dynalite, which keeps its tables in memory.
start_dynamodb() {
	local port
	[ -e "$installed/node_modules/.bin/dynalite" ] || { missing dynalite; return 0; }
	port=$(free_port)
	background dynamodb "$port" "$installed/node_modules/.bin/dynalite" --host 127.0.0.1 --port "$port" \
		--createTableMs 0 --deleteTableMs 0 --updateTableMs 0
	export TEST_DYNAMODB_URL="http://127.0.0.1:$port"
}

# AWS KMS: local-kms.
start_kms() {
	local port
	[ -x "$installed/bin/local-kms" ] || { missing local-kms; return 0; }
	port=$(free_port)
	mkdir "$dir/kms"
	background kms "$port" env PORT="$port" KMS_DATA_PATH="$dir/kms" KMS_SEED_PATH="$root/testing/services/kms.yaml" KMS_REGION=us-east-1 \
		"$installed/bin/local-kms"
	export TEST_KMS_URL="http://127.0.0.1:$port"
}

# Azure Blob Storage: azurite, which keeps its blobs in memory. It needs a certificate, because it
# accepts tokens only over TLS. The URL contains the name and the access key of its storage account.
start_azure() {
	local port
	[ -e "$installed/node_modules/.bin/azurite-blob" ] || { missing azurite; return 0; }
	port=$(free_port)
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=azurite \
		-keyout "$dir/azure.key" -out "$dir/azure.pem" 2>/dev/null
	background azure "$port" "$installed/node_modules/.bin/azurite-blob" --inMemoryPersistence --silent \
		--disableTelemetry --skipApiVersionCheck --loose --oauth basic --cert "$dir/azure.pem" --key "$dir/azure.key" \
		--blobHost 127.0.0.1 --blobPort "$port"
	export TEST_AZURE_URL="https://devstoreaccount1:Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq%2FK1SZFPTOtr%2FKBHBeksoGMGw%3D%3D@127.0.0.1:$port"
}

# Google Cloud Storage: fake-gcs-server, which keeps its objects in memory.
start_gcs() {
	local port
	[ -x "$installed/bin/fake-gcs-server" ] || { missing fake-gcs-server; return 0; }
	port=$(free_port)
	background gcs "$port" "$installed/bin/fake-gcs-server" -backend memory -scheme http -host 127.0.0.1 -port "$port" \
		-log-level error
	export TEST_GCS_URL="http://127.0.0.1:$port"
}

# Consul: an agent that is the only server of its cluster and keeps everything in memory. `make
# services-heavy` builds it.
start_consul() {
	local port
	[ -x "$installed/bin/consul" ] || { missing Consul; return 0; }
	port=$(free_port)
	background consul "$port" "$installed/bin/consul" agent -dev -bind 127.0.0.1 -client 127.0.0.1 -http-port "$port" \
		-dns-port -1 -grpc-port -1 -grpc-tls-port -1 -serf-wan-port -1 -server-port "$(free_port)" \
		-serf-lan-port "$(free_port)" -log-level error
	until curl -fsS "http://127.0.0.1:$port/v1/status/leader" 2>/dev/null | grep -q :; do sleep 0.1; done
	export TEST_CONSUL_URL="http://127.0.0.1:$port"
}

# Kubernetes: an API server, which `make services-heavy` builds, with etcd from Debian. There are no
# nodes and no controllers. TEST_KUBERNETES_CONFIG is the path of a kubeconfig file for a user who
# has all permissions.
start_kubernetes() {
	local port etcd home=$dir/kubernetes
	[ -x "$installed/bin/kube-apiserver" ] || { missing "The API server of Kubernetes"; return 0; }
	command -v etcd >/dev/null || { missing etcd; return 0; }
	port=$(free_port) etcd=http://127.0.0.1:$(free_port)
	mkdir "$home"
	openssl genrsa -out "$home/accounts.key" 2048 2>/dev/null
	printf 's3cret,tester,1,system:masters\n' >"$home/tokens.csv"
	background etcd "${etcd##*:}" etcd --data-dir "$home/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
		--listen-peer-urls "http://127.0.0.1:$(free_port)" --logger zap
	background kubernetes "$port" "$installed/bin/kube-apiserver" --etcd-servers "$etcd" --bind-address 127.0.0.1 \
		--secure-port "$port" --cert-dir "$home" --token-auth-file "$home/tokens.csv" --authorization-mode RBAC \
		--service-cluster-ip-range 10.0.0.0/24 --service-account-issuer https://kubernetes.default.svc \
		--service-account-key-file "$home/accounts.key" --service-account-signing-key-file "$home/accounts.key"
	cat >"$home/config" <<-END
		current-context: test
		contexts: [{name: test, context: {cluster: test, user: test}}]
		clusters: [{name: test, cluster: {server: "https://127.0.0.1:$port", certificate-authority: apiserver.crt}}]
		users: [{name: test, user: {token: s3cret}}]
	END
	until curl -fsS --cacert "$home/apiserver.crt" -H 'Authorization: Bearer s3cret' \
		"https://127.0.0.1:$port/api/v1/namespaces/default" >/dev/null 2>&1; do sleep 0.2; done
	export TEST_KUBERNETES_CONFIG=$home/config
}

# ---- start

if [ $# -lt 2 ]; then
	sed -n 's/^# \?//p' "${BASH_SOURCE[0]}" | sed -n 2,8p >&2
	exit 2
fi
wanted=,$1,
shift
while read -r name weight; do
	if [ -n "$name" ] && [[ $wanted = ,all, || $wanted = *",$name,"* || $wanted = *",$weight,"* ]]; then
		"start_$name"
	fi
done <<<"$table"
"$@"
