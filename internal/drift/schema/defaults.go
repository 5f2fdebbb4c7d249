package schema

// Filled is a default that depends on the object or the cluster: whatever the server filled in.
type Filled struct{}

// filledIn are the values that Kubernetes' own kinds get on creation and that their schemas do not publish, by schema
// and field. An object first written by "kubectl apply" or "kubectl create" has these fields owned by that manager,
// although nobody wrote them.
var filledIn = map[string]map[string]any{
	"io.k8s.api.apps.v1.DeploymentSpec": {
		"progressDeadlineSeconds": int64(600), "revisionHistoryLimit": int64(10), "replicas": int64(1),
	},
	"io.k8s.api.apps.v1.DeploymentStrategy":      {"type": "RollingUpdate"},
	"io.k8s.api.apps.v1.RollingUpdateDeployment": {"maxSurge": "25%", "maxUnavailable": "25%"},
	"io.k8s.api.apps.v1.StatefulSetSpec": {
		"podManagementPolicy": "OrderedReady", "replicas": int64(1), "revisionHistoryLimit": int64(10),
	},
	"io.k8s.api.apps.v1.StatefulSetUpdateStrategy":        {"type": "RollingUpdate"},
	"io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy": {"partition": int64(0)},
	"io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": {
		"whenDeleted": "Retain", "whenScaled": "Retain",
	},
	"io.k8s.api.apps.v1.DaemonSetSpec":           {"revisionHistoryLimit": int64(10)},
	"io.k8s.api.apps.v1.DaemonSetUpdateStrategy": {"type": "RollingUpdate"},
	"io.k8s.api.apps.v1.RollingUpdateDaemonSet":  {"maxSurge": int64(0), "maxUnavailable": int64(1)},
	"io.k8s.api.apps.v1.ReplicaSetSpec":          {"replicas": int64(1)},
	"io.k8s.api.batch.v1.JobSpec": {
		"backoffLimit": int64(6), "completions": int64(1), "parallelism": int64(1), "completionMode": "NonIndexed",
		"suspend": false, "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": false, "selector": Filled{},
	},
	"io.k8s.api.batch.v1.CronJobSpec": {
		"concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": int64(3), "failedJobsHistoryLimit": int64(1),
	},
	"io.k8s.api.core.v1.PodSpec": {
		"securityContext": map[string]any{},
		"dnsPolicy":       "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
		"terminationGracePeriodSeconds": int64(30), "enableServiceLinks": true, "serviceAccount": Filled{},
	},
	"io.k8s.api.core.v1.Container": {
		"imagePullPolicy": Filled{}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
	},
	"io.k8s.api.core.v1.Probe": {
		"failureThreshold": int64(3), "periodSeconds": int64(10), "successThreshold": int64(1), "timeoutSeconds": int64(1),
	},
	"io.k8s.api.core.v1.HTTPGetAction":                      {"scheme": "HTTP", "path": "/"},
	"io.k8s.api.core.v1.GRPCAction":                         {"service": ""},
	"io.k8s.api.core.v1.ContainerPort":                      {"protocol": "TCP"},
	"io.k8s.api.core.v1.ObjectFieldSelector":                {"apiVersion": "v1"},
	"io.k8s.api.core.v1.ResourceFieldSelector":              {"divisor": "0"},
	"io.k8s.api.core.v1.ConfigMapVolumeSource":              {"defaultMode": int64(420)},
	"io.k8s.api.core.v1.SecretVolumeSource":                 {"defaultMode": int64(420)},
	"io.k8s.api.core.v1.ProjectedVolumeSource":              {"defaultMode": int64(420)},
	"io.k8s.api.core.v1.DownwardAPIVolumeSource":            {"defaultMode": int64(420)},
	"io.k8s.api.core.v1.ServiceAccountTokenProjection":      {"expirationSeconds": int64(3600)},
	"io.k8s.api.core.v1.HostPathVolumeSource":               {"type": ""},
	"io.k8s.api.core.v1.ISCSIVolumeSource":                  {"iscsiInterface": "default"},
	"io.k8s.api.core.v1.TopologySpreadConstraint":           {"nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"},
	"io.k8s.api.core.v1.PersistentVolumeClaimSpec":          {"volumeMode": "Filesystem", "storageClassName": Filled{}, "volumeName": Filled{}},
	"io.k8s.api.core.v1.PersistentVolumeSpec":               {"volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain", "claimRef": Filled{}},
	"io.k8s.api.core.v1.PersistentVolumeClaim":              {"apiVersion": Filled{}, "kind": Filled{}, "status": Filled{}},
	"io.k8s.api.core.v1.Secret":                             {"type": "Opaque"},
	"io.k8s.api.core.v1.NamespaceSpec":                      {"finalizers": Filled{}},
	"io.k8s.api.core.v1.ServicePort":                        {"protocol": "TCP", "targetPort": Filled{}, "nodePort": Filled{}},
	"io.k8s.api.core.v1.ReplicationControllerSpec":          {"replicas": int64(1), "selector": Filled{}},
	"io.k8s.api.networking.v1.NetworkPolicySpec":            {"policyTypes": Filled{}},
	"io.k8s.api.networking.v1.NetworkPolicyPort":            {"protocol": "TCP"},
	"io.k8s.api.rbac.v1.Subject":                            {"apiGroup": Filled{}},
	"io.k8s.api.rbac.v1.RoleRef":                            {"apiGroup": "rbac.authorization.k8s.io"},
	"io.k8s.api.storage.v1.StorageClass":                    {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
	"io.k8s.api.storage.v1.CSIDriverSpec":                   {"attachRequired": true, "podInfoOnMount": false, "fsGroupPolicy": "ReadWriteOnceWithFSType", "requiresRepublish": false, "seLinuxMount": false, "storageCapacity": false, "volumeLifecycleModes": Filled{}},
	"io.k8s.api.scheduling.v1.PriorityClass":                {"preemptionPolicy": "PreemptLowerPriority", "globalDefault": false},
	"io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec": {"minReplicas": int64(1), "metrics": Filled{}, "behavior": Filled{}},
	"io.k8s.api.core.v1.ServiceSpec": {
		"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "clusterIP": Filled{},
		"clusterIPs": Filled{}, "ipFamilies": Filled{}, "ipFamilyPolicy": Filled{}, "allocateLoadBalancerNodePorts": true,
		"externalTrafficPolicy": "Cluster", "healthCheckNodePort": Filled{}, "sessionAffinityConfig": Filled{},
	},
	"io.k8s.api.admissionregistration.v1.ValidatingWebhook":                                  webhookDefaults,
	"io.k8s.api.admissionregistration.v1.MutatingWebhook":                                    webhookDefaults,
	"io.k8s.api.admissionregistration.v1.RuleWithOperations":                                 {"scope": "*"},
	"io.k8s.api.admissionregistration.v1.NamedRuleWithOperations":                            {"scope": "*"},
	"io.k8s.api.admissionregistration.v1.ServiceReference":                                   {"port": int64(443)},
	"io.k8s.api.admissionregistration.v1.MatchResources":                                     {"matchPolicy": "Equivalent"},
	"io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec":                      {"failurePolicy": "Fail"},
	"io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference":                    {"port": int64(443)},
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec":  {"conversion": Filled{}, "preserveUnknownFields": false},
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames": {"listKind": Filled{}, "singular": Filled{}},
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference":              {"port": int64(443)},
}

var webhookDefaults = map[string]any{
	"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": int64(10), "reinvocationPolicy": "Never",
}
