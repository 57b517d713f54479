{{- define "metastore.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains "metastore" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-metastore" (.Release.Name | trunc 30 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "metastore.selector" -}}
app.kubernetes.io/name: metastore
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "metastore.labels" -}}
helm.sh/chart: {{ printf "metastore-%s" .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "metastore.selector" . }}
{{- end -}}

{{- define "metastore.image" -}}
{{- include "metastore.imageOf" (dict "image" .Values.image "root" .) -}}
{{- end -}}

{{- define "metastore.imageOf" -}}
{{- with .image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.root.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "metastore.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "metastore.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "metastore.migrationMethod" -}}
{{- .Values.migration.method | default (ternary "initContainer" "hook" .Values.postgresql.enabled) -}}
{{- end -}}

{{- define "metastore.tlsSecret" -}}
{{- .Values.tls.secretName | default (printf "%s-tls" (include "metastore.fullname" .)) -}}
{{- end -}}

{{- define "metastore.replicas" -}}
{{- ternary .Values.autoscaling.minReplicas .Values.replicaCount .Values.autoscaling.enabled -}}
{{- end -}}

{{/* Fields that all pods of the image share. Arguments: root, account. */}}
{{- define "metastore.pod" -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: {{ .root.Values.serviceAccount.automountToken }}
# A service named metastore would set METASTORE_PORT=tcp://… in every pod.
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Fields that all containers of the image share. */}}
{{- define "metastore.container" -}}
image: {{ include "metastore.image" . }}
{{ include "metastore.confined" . }}
{{- end -}}

{{- define "metastore.confined" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* The secret with the password of the database, as YAML, or nothing. */}}
{{- define "metastore.passwordSecret" -}}
{{- if .Values.postgresql.enabled -}}
{{ toYaml .Values.postgresql.passwordSecret }}
{{- else if .Values.database.passwordSecret.name -}}
{{ toYaml .Values.database.passwordSecret }}
{{- end -}}
{{- end -}}

{{/* How to reach the database. The password is a file, which is read for each connection: a new one needs no restart. */}}
{{- define "metastore.databaseEnv" -}}
{{- with .Values.database.urlSecret -}}
{{- if .name }}
- name: METASTORE_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .key }}}}
{{- end }}
{{- end }}
{{- with .Values.database.url }}
- {name: METASTORE_DATABASE_URL, value: {{ . | quote }}}
{{- end }}
{{- if .Values.postgresql.enabled }}
- {name: METASTORE_DATABASE_URL, value: "postgresql://metastore@{{ include "metastore.fullname" . }}-postgresql:5432/metastore"}
{{- end }}
{{- with include "metastore.passwordSecret" . | fromYaml }}
{{- if .name }}
- {name: METASTORE_DATABASE_PASSWORD_FILE, value: /etc/metastore/database/{{ .key }}}
{{- end }}
{{- end }}
{{- end -}}

{{/* A setting as a quoted text. Helm reads whole numbers as floating-point numbers: 1e+08. */}}
{{- define "metastore.settingText" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . | toString | quote }}{{ else }}{{ toString . | quote }}{{ end -}}
{{- end -}}

{{/* The variables of the server, and of commands that work on the database. */}}
{{- define "metastore.serverEnv" -}}
{{- include "metastore.databaseEnv" . | trim }}
- {name: METASTORE_WAREHOUSE, value: {{ .Values.warehouse.uri | quote }}}
- {name: METASTORE_DATA_DIR, value: /data}
- {name: METASTORE_HOST, value: 0.0.0.0}
- {name: METASTORE_PORT, value: "9083"}
- {name: METASTORE_HTTP_HOST, value: 0.0.0.0}
- {name: METASTORE_HTTP_PORT, value: "9084"}
- {name: METASTORE_DRAIN_TIMEOUT, value: {{ .Values.drainTimeout | quote }}}
{{- with .Values.tls }}
{{- if .enabled }}
- {name: METASTORE_TLS, value: {{ .mode | quote }}}
- {name: METASTORE_TLS_CERTIFICATE, value: /etc/metastore/tls/tls.crt}
- {name: METASTORE_TLS_KEY, value: /etc/metastore/tls/tls.key}
{{- if ne .clientCertificates "off" }}
- {name: METASTORE_TLS_CLIENT_CERTIFICATES, value: {{ .clientCertificates | quote }}}
- {name: METASTORE_TLS_CLIENT_CA, value: /etc/metastore/client-ca/{{ .clientCASecret.key }}}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- {name: METASTORE_{{ upper $name }}, value: {{ include "metastore.settingText" $value }}}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "metastore.envFrom" -}}
{{- with .Values.extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "metastore.volumeMounts" -}}
- {name: data, mountPath: /data}
- {name: tmp, mountPath: /tmp}
{{- if include "metastore.passwordSecret" . }}
- {name: database, mountPath: /etc/metastore/database, readOnly: true}
{{- end }}
{{- range $index, $secret := .Values.extraSecrets }}
- {name: secret-{{ $index }}, mountPath: {{ $secret.mountPath }}, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "metastore.volumes" -}}
- {name: data, emptyDir: {}}
- {name: tmp, emptyDir: {}}
{{- with include "metastore.passwordSecret" . | fromYaml }}
{{- if .name }}
- {name: database, secret: {secretName: {{ .name }}, defaultMode: 0440}}
{{- end }}
{{- end }}
{{- range $index, $secret := .Values.extraSecrets }}
- {name: secret-{{ $index }}, secret: {secretName: {{ $secret.secretName }}, defaultMode: 0440}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The variables of commands that are clients of the service. */}}
{{- define "metastore.clientEnv" -}}
- {name: METASTORE_URI, value: "thrift://{{ include "metastore.fullname" . }}:{{ .Values.service.port }}"}
{{- if .Values.tls.enabled }}
- {name: METASTORE_CLIENT_TLS, value: "true"}
{{- if .Values.tls.caKey }}
- {name: METASTORE_CLIENT_CA, value: /etc/metastore/ca/ca.crt}
{{- end }}
{{- end }}
{{- with .Values.care.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "metastore.clientMounts" -}}
{{- if and .Values.tls.enabled .Values.tls.caKey }}
- {name: ca, mountPath: /etc/metastore/ca, readOnly: true}
{{- end }}
{{- range $index, $secret := .Values.care.secrets }}
- {name: secret-{{ $index }}, mountPath: {{ $secret.mountPath }}, readOnly: true}
{{- end }}
{{- end -}}

{{- define "metastore.clientVolumes" -}}
{{- if and .Values.tls.enabled .Values.tls.caKey }}
- name: ca
  secret:
    secretName: {{ include "metastore.tlsSecret" . }}
    items: [{key: {{ .Values.tls.caKey }}, path: ca.crt}]
{{- end }}
{{- range $index, $secret := .Values.care.secrets }}
- {name: secret-{{ $index }}, secret: {secretName: {{ $secret.secretName }}, defaultMode: 0440}}
{{- end }}
{{- end -}}
