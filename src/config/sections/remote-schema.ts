import { z } from 'zod'
import { serviceKinds } from '../../contract/services.ts'
import { endpoints } from './endpoints-schema.ts'
import { formatFields } from './format-schema.ts'
import { contextLength, modelId, samplingDefaults } from './model-fields.ts'
import { servedFields } from './shared-fields.ts'
import { amount, count, optionalFlag, optionalText } from './value-types.ts'

/** The kinds of servers that engine/remote supports, and `auto`. */
const serverKinds = [
  'auto',
  'vllm',
  'aphrodite',
  'sglang',
  'llama-server',
  'ollama',
  'tgi',
  'tabbyapi',
  'dragoman',
  'anthropic',
  'together',
  'fireworks',
  'groq',
  'openai',
] as const

/** The routers that engine/remote knows. */
const routers = ['auto', 'llm-d', 'vllm-router', 'sglang-router', 'smg', 'ray', 'dynamo', 'none'] as const

const objective = z.string().regex(/^[\x21-\x7e]{1,253}$/, 'must be the name of an InferenceObjective')

export const serverKind = z
  .enum(serverKinds)
  .default('auto')
  .describe('The kind of server; `auto` detects it. `openai` is any server with no more than the OpenAI API.')

/** Whether to find out unknown abilities. */
export const probe = z
  .boolean()
  .default(true)
  .describe('Whether a few small requests detect abilities that the kind of server does not determine.')

const usual = { bound: 1.5 } as const

/** How requests of a remote model follow their prompts. */
const affinity = z
  .union(
    [
      z.literal('off'),
      z.strictObject({
        bound: z
          .number()
          .min(1)
          .max(100)
          .default(usual.bound)
          .describe(
            'How busy such a replica may be, in mean loads of all replicas; above it, another one reads the prompt anew. More finds more in ' +
              'the caches and balances the load less.',
          ),
      }),
    ],
    { error: 'must be `off`, or an object with `bound` (from 1 to 100)' },
  )
  .default(usual)
  .describe(
    'Requests go to a replica that has read the beginning of their prompt, and has it in its cache; `off`: to the least loaded one.',
  )

/** Concurrent requests on all servers of a model. */
export const remoteSlots = count.default(256).describe('Requests in progress at the same time, on all replicas together.')

const versions = z
  .array(
    z
      .strictObject({
        name: z
          .string()
          .regex(/^(?!main$)[\w.-]{1,64}$/, 'must be a name of letters, digits, `.`, `_` and `-`, other than main')
          .describe('What callers choose it by.'),
        percent: z.number().min(0).max(100).describe('Of the conversations; the rest is served by the model itself.'),
        endpoints,
        upstreamModel: optionalText.describe('The name of the model on these servers.'),
      })
      .describe('Servers of another version, a model of their own called `ID@NAME`, with all other settings of this one.'),
  )
  .min(1)
  .check(({ value, issues }) => {
    for (const [index, { name }] of value.entries()) {
      if (value.findIndex((other) => other.name === name) === index) continue
      issues.push({ code: 'custom', path: [index, 'name'], message: 'names two versions', input: value })
    }
    const total = value.reduce((sum, { percent }) => sum + percent, 0)
    if (total > 100) issues.push({ code: 'custom', path: [], message: `add up to ${total} percent: at most 100`, input: value })
  })
  .describe(
    'Other versions of the model that serve a part of its conversations, each from its first turn to its last. Callers may choose one with the ' +
      'header `x-dragoman-version`.',
  )

export const remoteModel = z
  .strictObject({
    engine: z.literal('remote').describe('A model on one or more servers, such as vLLM, SGLang, llama-server or a provider.'),
    id: modelId,
    endpoints,
    drainMs: amount
      .default(30_000)
      .describe(
        'How long the requests of a server that is gone from `endpoints` may take to end there; then they are continued elsewhere.',
      ),
    whenEmpty: z
      .strictObject({
        holdMs: amount
          .default(300_000)
          .describe('How long a request waits for the first server; then it fails with status 503 and `Retry-After`.'),
      })
      .prefault({})
      .describe('While `dns`, `file` or `kubernetes` find no server: the model stays ready, and requests wait.'),
    server: serverKind,
    router: z
      .enum(routers)
      .default('auto')
      .describe(
        'What the endpoints of kind `router` are, which decides what headers tell them; `auto`: what any of them reads, `none`: nothing.',
      ),
    objectives: z
      .strictObject({
        interactive: objective.exactOptional().describe('Of requests that someone waits for.'),
        background: objective.exactOptional().describe('Of requests that may wait.'),
      })
      .exactOptional()
      .describe('The names of the InferenceObjectives that are sent to llm-d, by the lane of the request.'),
    protocol: z
      .enum(['auto', 'chat', 'responses', 'messages', 'completions'])
      .default('auto')
      .describe(
        'How conversations are sent: `chat` (OpenAI chat completions), `responses` (OpenAI Responses), `messages` (Anthropic Messages), ' +
          '`completions` (rendered here, as text, for servers that take nothing else), or `auto`, what the kind of server has.',
      ),
    upstreamModel: optionalText.describe(
      'The name of the model on the replicas, also where they do not list it; absent: its id, or the only model that they list.',
    ),
    contextLength: contextLength.exactOptional().describe('Tokens that one request may use; absent: what the replicas report.'),
    toolFormat: formatFields.toolFormat.describe(
      'The format of tool calls that a replica leaves in its text; absent: that of its chat template, or any known one.',
    ),
    reasoningTags: formatFields.reasoningTags.describe(
      'The tags around reasoning that a replica leaves in its text; absent: those of its chat template, or `<think>`.',
    ),
    callsInReasoning: formatFields.callsInReasoning,
    chatTemplate: optionalText.describe(
      "The model's chat template for `protocol: completions`: a Jinja file, or the folder of the model's repository with " +
        '`tokenizer_config.json`; absent: what the replicas report.',
    ),
    addsBos: optionalFlag.describe(
      'Whether the replicas put the BOS token before a prompt, with `protocol: completions`; absent: as `tokenizer_config.json` ' +
        'says, or else yes.',
    ),
    probe,
    services: z
      .array(z.enum(serviceKinds))
      .min(1)
      .exactOptional()
      .describe(
        "What the replicas do besides language, with OpenAI's routes: `speech`, `transcription`, `translation`, `images`; absent: " +
          'nothing. Requests for it are passed on.',
      ),
    warmUp: z
      .union([
        z.literal('off'),
        z.strictObject({
          ms: z.int().min(1).default(30_000).describe('How long until it has its whole share.'),
          from: z.number().positive().max(1).default(0.1).describe('The part of its share with which it begins.'),
        }),
      ])
      .prefault({})
      .describe(
        'A replica that is new, or back after it could not be reached, begins with a part of its share of the load, because its cache ' +
          'is empty. `off`: it gets its share immediately.',
      ),
    affinity,
    slots: remoteSlots,
    versions: versions.exactOptional(),
    defaults: samplingDefaults,
    ...servedFields,
  })
  .check(({ value, issues }) => {
    for (const name of ['chatTemplate', 'addsBos'] as const) {
      if (value[name] === undefined || value.protocol === 'completions') continue
      const message = 'has an effect with `protocol: completions` only: set that, or leave it out'
      issues.push({ code: 'custom', path: [name], message, input: value[name] })
    }
  })
  .describe('A model that other servers run.')
