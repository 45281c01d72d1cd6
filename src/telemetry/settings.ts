import { decodeUri } from '../base/text/decode-uri.ts'
/** How spans are recorded and where they are sent. */
export type TracingSettings = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly sampler: Sampler
  /** The attributes of this process, such as `service.name`. */
  readonly resource: Readonly<Record<string, string>>
}

/** `ratio`: the share of traces that begin here. `followsParent`: a caller's decision wins. */
export type Sampler = { readonly ratio: number; readonly followsParent: boolean }

type Environment = Readonly<Record<string, string | undefined>>

/** Undefined settings: spans are not recorded. `problems`: unusable variables, and what to do. */
type ReadTracing = { readonly settings: TracingSettings | undefined; readonly problems: readonly string[] }

/** Reads OpenTelemetry's standard variables. */
export function readTracing(env: Environment): ReadTracing {
  const problems: string[] = []
  const read = (...names: readonly string[]) => names.map((name) => env[name]?.trim() ?? '').find((text) => text !== '') ?? ''
  const base = read('OTEL_EXPORTER_OTLP_ENDPOINT')
  const endpoint = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') || (base === '' ? '' : `${base.replace(/\/+$/, '')}/v1/traces`)
  const exporter = read('OTEL_TRACES_EXPORTER')
  const isOff = endpoint === '' || read('OTEL_SDK_DISABLED').toLowerCase() === 'true' || exporter === 'none'
  if (isOff) return { settings: undefined, problems }
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    const message = `OTEL_EXPORTER_OTLP_ENDPOINT: '${endpoint}' is not an http or https URL, such as http://localhost:4318: no traces are sent`
    return { settings: undefined, problems: [message] }
  }
  const protocol = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol === 'grpc')
    problems.push(
      "OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' is not spoken here: traces are sent as http/json; name the collector's HTTP port, usually 4318",
    )
  if (exporter !== '' && exporter !== 'otlp') problems.push(`OTEL_TRACES_EXPORTER: '${exporter}' is not known: use otlp or none`)
  const list = (name: string, text: string) => readList(text, (entry) => problems.push(`${name}: '${entry}' is not NAME=VALUE`))
  const headers = list('OTEL_EXPORTER_OTLP_HEADERS', read('OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS'))
  const attributes = list('OTEL_RESOURCE_ATTRIBUTES', read('OTEL_RESOURCE_ATTRIBUTES'))
  const service = read('OTEL_SERVICE_NAME')
  const timeout = read('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT')
  const timeoutMs = timeout === '' ? 10_000 : Number(timeout)
  if (!(timeoutMs > 0)) problems.push(`OTEL_EXPORTER_OTLP_TIMEOUT: '${timeout}' is not a number of milliseconds: 10000 is used`)
  return {
    settings: {
      url: endpoint,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
      timeoutMs: timeoutMs > 0 ? timeoutMs : 10_000,
      sampler: readSampler(read('OTEL_TRACES_SAMPLER'), read('OTEL_TRACES_SAMPLER_ARG'), problems),
      resource: { 'service.name': 'dragoman', ...attributes, ...(service !== '' && { 'service.name': service }) },
    },
    problems,
  }
}

const samplers: Readonly<Record<string, { readonly ratio?: number; readonly followsParent: boolean }>> = {
  always_on: { ratio: 1, followsParent: false },
  always_off: { ratio: 0, followsParent: false },
  traceidratio: { followsParent: false },
  parentbased_always_on: { ratio: 1, followsParent: true },
  parentbased_always_off: { ratio: 0, followsParent: true },
  parentbased_traceidratio: { followsParent: true },
}

function readSampler(name: string, argument: string, problems: string[]): Sampler {
  const usual = { ratio: 1, followsParent: true }
  if (name === '') return usual
  const sampler = Object.hasOwn(samplers, name) ? samplers[name] : undefined
  if (sampler === undefined) {
    problems.push(`OTEL_TRACES_SAMPLER: '${name}' is not known: use one of ${Object.keys(samplers).join(', ')}`)
    return usual
  }
  const { ratio, followsParent } = sampler
  if (ratio !== undefined) return { ratio, followsParent }
  const share = argument === '' ? 1 : Number(argument)
  if (share >= 0 && share <= 1) return { ratio: share, followsParent }
  problems.push(`OTEL_TRACES_SAMPLER_ARG: '${argument}' is not a number from 0 to 1: 1 is used`)
  return { ratio: 1, followsParent }
}

/** Reads `a=1,b=two%20words`; `onProblem` receives entries of another form. */
function readList(text: string, onProblem: (entry: string) => void): Readonly<Record<string, string>> {
  const entries = text.split(',').flatMap((part): [string, string][] => {
    const entry = part.trim()
    if (entry === '') return []
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(entry) ?? []
    if (name !== '') return [[name.trim(), decodeUri(value.trim())]]
    onProblem(entry)
    return []
  })
  return Object.fromEntries(entries)
}
