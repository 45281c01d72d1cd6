import { z } from 'zod'
import { optionalText, text } from './value-types.ts'

export const serverUrl = z
  .url({ protocol: /^https?$/, error: 'must be a URL such as http://10.0.0.1:8000/v1' })
  .refine((url) => !/[#@]/.test(url), 'must not contain a user, password or #; set apiKeyEnv for a key')
  .transform((url) => url.replace(/\/+$/, ''))
  .describe("The base URL of the server's API, usually ending in `/v1`.")

/** Where the key of a server is. */
export const apiKeyEnv = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
  .describe('The environment variable that contains the API key of the server.')

/** Settings that every server may have, including one in a list of its own. */
export const serverFields = {
  url: serverUrl,
  apiKeyEnv: apiKeyEnv.exactOptional(),
  weight: z.number().positive().default(1).describe('Its share of the load: 2 gets twice the tokens of 1.'),
  upstreamModel: optionalText.describe('Its name for the model, where it differs from that of the others.'),
  kind: z
    .enum(['server', 'router'])
    .default('server')
    .describe('`router`: it balances servers of its own, such as llm-d, vLLM Router or Ray Serve. `server` says what these are.'),
}

const port = z.int().min(1).max(65_535)

const waysToName = {
  url: [],
  dns: ['port', 'path', 'everyMs', 'nameServers', 'https', 'serverName'],
  file: ['path', 'everyMs'],
  kubernetes: ['path', 'https', 'serverName'],
} as const

type WayToName = keyof typeof waysToName
const ways = Object.keys(waysToName) as readonly WayToName[]

const entry = z
  .strictObject({
    ...serverFields,
    url: serverUrl.exactOptional(),
    dns: z
      .string()
      .regex(/^[A-Za-z0-9_.-]+$/, 'must be a full name such as vllm.llm.svc.cluster.local')
      .exactOptional()
      .describe(
        'A name whose addresses are the servers, such as that of a headless Service: with `port`, its A or AAAA records; without, its SRV ' +
          'records with their ports, weights and priorities. A full name: search domains are not applied.',
      ),
    file: optionalText.describe(
      'A YAML or JSON file with a list of `{ url, weight, apiKeyEnv }`, or of `{ targets }` in the form of Prometheus.',
    ),
    kubernetes: z
      .strictObject({
        service: optionalText.describe('The name of the Service.'),
        selector: optionalText.describe(
          'Instead of `service`: the labels of Services, such as `app=vllm,tier in (a,b)`; their EndpointSlices carry them.',
        ),
        inferencePool: optionalText.describe(
          'Instead of `service`: the name of an InferencePool (`inference.networking.k8s.io/v1`), which says what labels and ports the pods have.',
        ),
        namespace: optionalText.describe('Absent: that of the pod that Dragoman runs in.'),
        port: z
          .union([port, text])
          .exactOptional()
          .describe('The name or the number of the port; absent: the only one that the Service has.'),
        zone: optionalText.describe(
          'The zone of Dragoman: servers there are preferred, until they have several times the load of the others; absent: that in `DRAGOMAN_ZONE`, if set.',
        ),
        api: z
          .url({ protocol: /^https?$/, error: 'must be a URL such as http://127.0.0.1:8001' })
          .exactOptional()
          .describe('The API server, such as that of `kubectl proxy`; absent: that of the pod.'),
      })
      .check(({ value, issues }) => {
        const { service, selector, inferencePool, port } = value
        const given = Object.entries({ service, selector, inferencePool }).flatMap(([name, one]) =>
          one === undefined ? [] : [name],
        )
        if (given.length !== 1) {
          const message = `must have one of service, selector, inferencePool${given.length > 1 ? `, not ${given.join(' and ')}` : ''}`
          issues.push({ code: 'custom', path: [], message, input: value })
        }
        if (inferencePool !== undefined && port !== undefined) {
          const message = 'has no effect with inferencePool, which sets the ports: leave it out'
          issues.push({ code: 'custom', path: ['port'], message, input: port })
        }
      })
      .exactOptional()
      .describe("The pods behind a Service or an InferencePool, read from the API server with the pod's token."),
    port: port.exactOptional().describe('With `dns`: the port of every address.'),
    path: z
      .string()
      .regex(/^\/[^?#]*$/, 'must be a path such as /v1')
      .transform((path) => path.replace(/\/+$/, ''))
      .exactOptional()
      .describe('With `dns`, `kubernetes` and `targets`: the path of the API; absent: `/v1`.'),
    everyMs: z
      .int()
      .min(100)
      .exactOptional()
      .describe('With `dns` and `file`: how often it is read, in milliseconds; absent: 5000.'),
    nameServers: z
      .array(text)
      .min(1)
      .exactOptional()
      .describe('With `dns`: name servers to ask, such as `127.0.0.1:8600`; absent: those of the system.'),
    https: z
      .literal(true)
      .exactOptional()
      .describe('With `dns` and `kubernetes`: the servers speak HTTPS. Of a Service, `appProtocol: https` says the same.'),
    serverName: z
      .string()
      .regex(/^[A-Za-z0-9_.-]+$/, 'must be a name such as vllm.llm.svc')
      .exactOptional()
      .describe(
        'With `dns` and `kubernetes`: the name in the certificates of the servers; absent: `dns`, the targets of its SRV records, SERVICE.NAMESPACE.svc, or else their addresses.',
      ),
  })
  .check(({ value, issues }) => {
    const named = ways.filter((way) => value[way] !== undefined)
    const [way] = named
    if (way === undefined || named.length > 1) {
      const found = named.length > 1 ? `, not ${named.join(' and ')}` : ''
      issues.push({ code: 'custom', path: [], message: `must have one of ${ways.join(', ')}${found}`, input: value })
      return
    }
    for (const setting of ['port', 'path', 'everyMs', 'nameServers', 'https', 'serverName'] as const) {
      if (value[setting] === undefined || (waysToName[way] as readonly string[]).includes(setting)) continue
      const users = ways.filter((other) => (waysToName[other] as readonly string[]).includes(setting))
      const message = `has no effect with ${way}, only with ${users.join(', ')}: leave it out`
      issues.push({ code: 'custom', path: [setting], message, input: value[setting] })
    }
  })
  .describe('One replica, or a source of replicas.')
  .meta({ id: 'endpoint' })

/** One server, or a source of servers, of a remote model. */
export type EndpointEntry = z.output<typeof entry>

const list = z
  .array(entry)
  .min(1)
  .check(({ value, issues }) => {
    for (const [index, { url }] of value.entries()) {
      if (url === undefined || value.findIndex((other) => other.url === url) === index) continue
      issues.push({ code: 'custom', path: [index, 'url'], message: `'${url}' is listed twice`, input: value })
    }
  })

export const endpoints = z
  .union([list, entry.transform((one) => [one])])
  .describe('The replicas: servers that all have the same model. One `{ url }` each, or sources: `dns`, `file`, `kubernetes`.')
