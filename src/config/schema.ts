import { isIPv4 } from 'node:net'
import { z } from 'zod'
import { findNameConflicts } from '../registry/names/aliases.ts'
import { isDerived } from './derive-engines.ts'
import { findLoops } from './fallbacks.ts'
import { formatFields } from './sections/format-schema.ts'
import { apiKeys, keyGroups, keyLimits, keyText } from './sections/key-schema.ts'
import { limits } from './sections/limits-schema.ts'
import { listing } from './sections/listing-schema.ts'
import { llamaServerModel } from './sections/llama-server-schema.ts'
import { media } from './sections/media-schema.ts'
import { memory, prefixCache } from './sections/memory-schema.ts'
import { chatTemplate, contextLength, draft, modelId, rope } from './sections/model-fields.ts'
import { remoteModel } from './sections/remote-schema.ts'
import { runtimes } from './sections/runtimes-schema.ts'
import { sampling } from './sections/sampling-schema.ts'
import { checkFileFields, fileFields, servedFields } from './sections/shared-fields.ts'
import { always, speculation } from './sections/speculation-schema.ts'
import { storage } from './sections/storage-schema.ts'
import { serverTools } from './sections/tools-schema.ts'
import { amount, count, optionalCount, optionalText, text } from './sections/value-types.ts'

const toolStrategy = z
  .enum(['grammar', 'two-pass'])
  .default('grammar')
  .describe(
    'Which calls under `tool_choice` `auto` are constrained by the schemas of their tools once they have begun: those of ' +
      'requests with a `strict` tool (`grammar`), or all (`two-pass`, which despite its name takes one pass).',
  )

const llamaModel = z
  .strictObject({
    engine: z.literal('llama').describe('A GGUF file, run by llama.cpp in a child process.'),
    id: modelId,
    ...fileFields,
    contextLength: contextLength
      .exactOptional()
      .describe(
        'Tokens that one request may use, prompt and output together; absent: what the model was trained for, as far as its share of ' +
          '`memory.budget` goes (docs/engines/llama.md). Memory is allocated for every slot.',
      ),
    threads: optionalCount.describe('CPU threads; absent: one less than there are physical cores.'),
    batchSize: optionalCount.describe('Prompt tokens that are evaluated in one step.'),
    stopWithinMs: z
      .int()
      .min(50)
      .max(10_000)
      .default(250)
      .describe(
        'How long running streams may wait for a step of a prompt, and a cancelled prompt may go on where llama.cpp cannot be ' +
          'interrupted. More makes prompts beside streams faster on slow processors, where a step of 64 tokens takes longer.',
      ),
    flashAttention: z.boolean().default(true).describe('Faster attention that needs less memory.'),
    rope: rope.exactOptional(),
    speculation: speculation.exactOptional(),
    draft: draft
      .safeExtend({ always })
      .describe(draft.description ?? '')
      .exactOptional(),
    prefixCache,
    toolStrategy,
    ...servedFields,
  })
  .check(checkFileFields)
  .check(({ value, issues }) => {
    if (value.draft === undefined || value.speculation === undefined) return
    const both = 'cannot be used together with `speculation`: remove one of them'
    issues.push({ code: 'custom', path: ['draft'], message: both, input: value.draft })
  })
  .describe('A model that Dragoman runs itself.')

const fakeModel = z
  .strictObject({
    engine: z.literal('fake').describe('Scripted replies, to test agents and to run benchmarks.'),
    id: modelId,
    script: text.describe('`from-request` (the last user message is the script), or a YAML file that maps requests to replies.'),
    chatTemplate: chatTemplate.exactOptional(),
    ...formatFields,
    contextLength: contextLength.exactOptional(),
    slots: count.default(64).describe('Requests that are answered at the same time.'),
    ...servedFields,
  })
  .describe('A model that answers from a script.')

const origin = z
  .string()
  .refine(isOrigin, 'must be an origin as browsers send it, such as https://chat.example.com, without a path; or *')

/** Also accepts `chrome-extension://…` and `tauri://localhost`, whose origin `URL` does not return. */
function isOrigin(text: string): boolean {
  // For example http://localhost:* and https://*.example.com.
  const example = text.replace(/:\*$/, ':1').replaceAll('*', 'x')
  if (/^https?:/.test(text)) return URL.canParse(example) && new URL(example).origin === example
  return text === '*' || /^[a-z][a-z\d+.-]*:\/\/[^\s/A-Z]+$/.test(text)
}

const server = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .refine((host) => !/^[\d.]+$/.test(host) || isIPv4(host), 'must be a host name or an IP address')
      .default('127.0.0.1')
      .describe('The address to listen on; 0.0.0.0 is every address.'),
    port: z.int().min(0).max(65_535).default(7411).describe('The port to listen on; 0 takes a free one.'),
    portFallback: z
      .boolean()
      .default(false)
      .describe(
        'Whether the next free port is used instead of one that is in use; the address is in the line `listening on`. Only with one worker.',
      ),
    basePath: z
      .string()
      .regex(/^(\/[\w.~-]+)*\/?$/, 'must be the beginning of a path, such as /llm')
      .transform((path) => path.replace(/\/$/, ''))
      .default('')
      .describe(
        'The beginning of the paths of all routes, such as /llm behind a proxy that serves other things too; whether the proxy removes it ' +
          'makes no difference.',
      ),
    page: z
      .enum(['on', 'off'])
      .default('on')
      .describe(
        'Whether browsers get the page at `/`, to chat with models and to see what runs; `off`: only a line that the server runs.',
      ),
    debug: z
      .enum(['on', 'off'])
      .default('off')
      .describe(
        "Whether keys with the scope `admin` may use MLC-LLM's `debug_config` and its routes below `/debug`: an event trace, the metrics of an " +
          'engine, and its reset. Only with one worker.',
      ),
    ollamaPort: z
      .int()
      .min(1)
      .max(65_535)
      .exactOptional()
      .describe(
        'Another port to listen on: 11434, where clients of Ollama look for it. Both ports answer all protocols; absent: none.',
      ),
    workers: count
      .default(1)
      .describe(
        'Processes that answer requests on the port, for gateways on many cores: only with models whose engine is `remote` or `fake`. ' +
          '`slots`, `maxQueued` and `totalBodyLimitBytes` are those of all together.',
      ),
    apiKeys: apiKeys.exactOptional(),
    keyLimits: keyLimits.exactOptional(),
    keyGroups: keyGroups.exactOptional(),
    adminKey: keyText
      .exactOptional()
      .describe('A key with all scopes, in addition to `apiKeys`: for operators, and as DRAGOMAN_ADMIN_KEY.'),
    allowedHosts: z
      .array(text)
      .default([])
      .describe(
        'Host names that requests may be sent to while no key is required, besides the loopback names and the listening address; * ' +
          'allows all. Also DRAGOMAN_ALLOWED_HOSTS=a.example,b.example.',
      ),
    allowedOrigins: z
      .array(origin)
      .default([])
      .describe(
        'Origins of web pages that may use this server from a browser, such as https://chat.example.com or chrome-extension://*, in ' +
          'which * is any text without a slash; * alone allows all. On loopback, pages of programs and browser extensions always may.',
      ),
    bodyLimitBytes: count.default(32 * 1024 * 1024).describe('The largest request body.'),
    totalBodyLimitBytes: count
      .default(256 * 1024 * 1024)
      .describe('The bodies of all requests in flight together; beyond it, requests get 503. Bodies up to 64 KiB do not count.'),
    reasoningFields: z
      .enum(['both', 'reasoning_content', 'reasoning', 'none'])
      .default('both')
      .describe('The fields of chat completions that contain the reasoning of a model; `none` omits it.'),
    usageTimes: z
      .array(z.enum(['tabby', 'mlc']))
      .default([])
      .describe(
        'Whose times and rates `usage` has in chat completions and completions: `tabby` (`prompt_time`, `completion_tokens_per_sec`, …) ' +
          "or `mlc` (`extra`). By default nobody's: LangChain fails on fractions in `usage`. llama-server's `timings` is beside `usage` in any case.",
      ),
    shortenOutput: z
      .boolean()
      .default(true)
      .describe(
        'Whether a request for more output than the context has room for gets what there is, in every protocol: the finish reason is ' +
          '`length`, and the header `x-dragoman-shortened` has both numbers. `false`: it is refused.',
      ),
    streaming: z
      .boolean()
      .default(true)
      .describe(
        'Whether requests that ask for a stream get their reply as it is generated; false: in the same form, when it is complete.',
      ),
    heartbeatMs: amount
      .default(10_000)
      .describe(
        'How long a stream may be silent before a heartbeat is sent; 0: streams have no heartbeats, nor comments about a place in a queue.',
      ),
    drainDelayMs: amount
      .default(0)
      .describe(
        'How long a server that is stopped goes on serving, while `GET /ready` says `draining`, before it refuses requests: time for ' +
          'load balancers to look away.',
      ),
    shutdownGraceMs: amount.default(30_000).describe('How long running requests may continue when the server is stopped.'),
  })
  .check(({ value: { apiKeys = [], keyGroups = {} }, issues }) => {
    for (const [index, key] of apiKeys.entries()) {
      if (typeof key === 'string' || key.group === undefined || Object.hasOwn(keyGroups, key.group)) continue
      const known = Object.keys(keyGroups).join(', ') || 'there are none'
      const message = `must be one of the groups in server.keyGroups (${known})`
      issues.push({ code: 'custom', path: ['apiKeys', index, 'group'], message, input: key.group })
    }
  })
  .check(({ value: { workers, portFallback, debug }, issues }) => {
    if (workers === 1) return
    const message = `needs one worker, and there are ${workers}: leave one of the two settings out`
    if (portFallback) issues.push({ code: 'custom', path: ['portFallback'], message, input: portFallback })
    if (debug === 'on') issues.push({ code: 'custom', path: ['debug'], message, input: debug })
  })
  .describe('The HTTP server.')

const log = z
  .strictObject({
    level: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .default('info')
      .describe('The lowest level that is logged.'),
    captureFolder: optionalText.describe(
      'A folder where each request is kept as a file, with its texts and without keys, so that `dragoman replay` can send it again; ' +
        'beyond 256 MiB, the oldest are deleted. Absent: none are kept.',
    ),
  })
  .describe('The log, on standard error, and what it has besides.')

/** One entry of `models`, to parse models that are not from the file. */
export const modelSchema = z.discriminatedUnion('engine', [llamaModel, llamaServerModel, remoteModel, fakeModel])

const models = z
  .array(z.union([modelSchema, listing]))
  .default([])
  .check((context) => {
    const named = context.value.flatMap((entry, place) => ('from' in entry ? [] : [{ ...entry, place }]))
    for (const { index, key, message } of findNameConflicts(named)) {
      context.issues.push({ code: 'custom', path: [named[index]?.place ?? 0, ...key], message, input: context.value })
    }
    for (const { index, path, message } of findLoops(named)) {
      context.issues.push({ code: 'custom', path: [named[index]?.place ?? 0, ...path], message, input: context.value })
    }
  })
  .describe('The models to serve; without any, a small one is fetched.')

const builtinModel = z
  .boolean()
  .default(true)
  .describe('Whether the tiny model that comes with Dragoman is served as `dragoman-tiny`; the first request for it loads it.')

const modelsFolder = text.describe(
  'A folder of GGUF files, also in folders of it, that are models too: each is named after its file, and loaded by the first request ' +
    'for it. Files that are added or deleted while the server runs are noticed.',
)

const templates = text.describe(
  'A folder of Jinja files (`NAME.jinja`): a model without `chatTemplate` has that with its name, and models can be switched to others while ' +
    'the server runs.',
)

const requestTemplates = z
  .enum(['admin', 'everyone'])
  .default('admin')
  .describe(
    'Whose requests may name a template of that folder, as `prompt_template`: those of keys with the scope `admin`, or all.',
  )

/** The configuration file. These descriptions are its reference, which `dragoman config --schema` prints. */
export const configSchema = z.strictObject({
  server: server.prefault({}),
  log: log.prefault({}),
  storage,
  memory: memory.prefault({}),
  limits: limits.prefault({}),
  media,
  tools: serverTools.prefault({}),
  models,
  modelsFolder: modelsFolder.exactOptional(),
  builtinModel,
  runtimes: runtimes.prefault({}),
  sampling: sampling.prefault({}),
  templates: templates.exactOptional(),
  requestTemplates,
})

export type Config = z.output<typeof configSchema>
export type ModelConfig = z.output<typeof modelSchema>
export type LlamaModelConfig = Extract<ModelConfig, { engine: 'llama' }>
export type RemoteModelConfig = Extract<ModelConfig, { engine: 'remote' }>
export type LlamaServerModelConfig = Extract<ModelConfig, { engine: 'llama-server' }>

/** The JSON Schema of the configuration file, for editors. */
export function configJsonSchema(): z.core.JSONSchema.BaseSchema {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    override({ jsonSchema }) {
      const { engine } = jsonSchema.properties ?? {}
      if (typeof engine !== 'object' || !isDerived(engine.const)) return
      jsonSchema.required = jsonSchema.required?.filter((key) => key !== 'engine') ?? []
    },
  })
  return { $id: 'urn:dragoman:configuration', ...schema }
}
