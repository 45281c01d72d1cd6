import { z } from 'zod'
import { aliases, contextLength, count, load, maxQueued, modelId, samplingDefaults, toolFormat } from './model-fields.ts'

/** The kinds of servers that engine/remote knows, and `auto`. */
const serverKinds = ['auto', 'vllm', 'sglang', 'llama-server', 'ollama', 'dragoman', 'openai'] as const

const endpoint = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/, error: 'must be a URL such as http://10.0.0.1:8000/v1' })
      .refine((url) => !/[#@]/.test(url), 'must hold no user, password or #: set apiKeyEnv for a key')
      .transform((url) => url.replace(/\/+$/, ''))
      .describe("Where the server's OpenAI routes begin, mostly with `/v1` at the end."),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
      .exactOptional()
      .describe('The environment variable that holds the key which the server asks for.'),
    weight: z.number().positive().default(1).describe('Its share of the work: 2 gets twice the tokens of 1.'),
  })
  .describe('One server.')

/** A model on servers that already run. */
export const remoteModel = z
  .strictObject({
    engine: z
      .literal('remote')
      .describe('A model on one or more OpenAI-compatible servers, such as vLLM, SGLang or llama-server.'),
    id: modelId,
    endpoints: z
      .array(endpoint)
      .min(1)
      .check(({ value, issues }) => {
        for (const [index, { url }] of value.entries()) {
          if (value.findIndex((other) => other.url === url) === index) continue
          issues.push({ code: 'custom', path: [index, 'url'], message: `'${url}' is listed twice`, input: value })
        }
      })
      .describe('The servers, all of which have the same model.'),
    server: z
      .enum(serverKinds)
      .default('auto')
      .describe('What kind of servers they are; `auto` asks them. `openai` is any that speaks no more than OpenAI does.'),
    upstreamModel: z
      .string()
      .min(1)
      .exactOptional()
      .describe('What the servers call the model; absent: as its id says, or the only one that they have.'),
    contextLength: contextLength.exactOptional().describe('Tokens that one request may use; absent: what the servers say.'),
    toolFormat: toolFormat
      .exactOptional()
      .describe('How calls look that a server leaves in its text; absent: as its chat template says, or in any known form.'),
    deadlineMs: count
      .exactOptional()
      .describe('The most that a request may take, in milliseconds, with all that is tried for it; absent: as long as it takes.'),
    probe: z.boolean().default(true).describe('Whether servers are asked by a few small requests what their kind leaves open.'),
    slots: count.default(256).describe('Requests that are under way at the same time, on all servers together.'),
    maxQueued,
    aliases,
    load,
    defaults: samplingDefaults.exactOptional(),
  })
  .describe('A model that other servers run.')
