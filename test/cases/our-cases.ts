import { callCases } from './call-cases.ts'
import { chat, content, delta, type Json, type OurCase, ok, user, wholeAndStreamed } from './case-parts.ts'

const stopped = (reasoning: string) => [
  { path: 'choices.0.message.reasoning_content', equals: reasoning },
  { path: content, equals: 'hello ' },
  { path: 'choices.0.finish_reason', equals: 'stop' },
]
const harmonyThought =
  '<|channel|>analysis<|message|>a STOP b<|end|><|start|>assistant<|channel|>final<|message|>hello STOP world<|return|>'

const stopSequences: readonly OurCase[] = [
  {
    name: 'stop-sequence-in-reasoning-harmony',
    about: 'a stop sequence ends the answer, not the reasoning',
    model: { format: 'harmony' },
    raw: harmonyThought,
    extra: { stop: 'STOP' },
    expect: stopped('a STOP b'),
  },
  ...['openai', 'vllm', 'sglang', 'ollama'].map((server) => ({
    name: `stop-sequence-dropped-${server}`,
    about: 'a stop sequence that a server drops ends the answer here, and not in the reasoning',
    model: { server },
    upstream: [{ sse: [delta({ reasoning_content: 'a STOP b' }), delta({ content: 'hello STOP world' }), delta({}, 'stop')] }],
    steps: wholeAndStreamed({ messages: user('hi'), stop: ['STOP'] }),
    expect: stopped('a STOP b'),
  })),
]

const developer = { role: 'developer', content: 'be brief' }
const refusedRole = { status: 400, json: { error: { message: 'Unexpected message role.' } } }
const histories: readonly OurCase[] = [
  ...['sglang', 'ollama', 'tgi', 'llama-server', 'together', 'groq'].map((server) => ({
    name: `developer-behind-${server}`,
    about: 'a developer message is a system message for servers that know no developers',
    model: { server },
    upstream: [
      { when: { 'messages.0.role': 'developer' }, ...refusedRole },
      { when: { 'messages.2.role': 'developer' }, ...refusedRole },
      { sse: [delta({ content: 'ok' }), delta({}, 'stop')] },
    ],
    steps: [
      chat({ messages: [developer, ...user('hi')] }),
      chat({ messages: [{ role: 'system', content: 's' }, ...user('hi'), developer, ...user('hi')] }),
    ],
    expect: [ok, { path: content, equals: 'ok' }],
  })),
  {
    name: 'arguments-null-messages',
    about: 'a tool call that comes back with `input: null` has no input',
    steps: [
      {
        path: '/v1/messages',
        body: {
          model: 'MODEL',
          max_tokens: 50,
          messages: [
            ...user('u'),
            { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'get_time', input: null }] },
            {
              role: 'user',
              content: [
                { type: 'tool_result', tool_use_id: 't1', content: 'r' },
                { type: 'text', text: 'hi' },
              ],
            },
          ],
        },
      },
    ],
    expect: [ok, { path: 'content.0.text', includes: 'hi' }],
  },
  {
    name: 'arguments-null-responses',
    about: 'a function call that comes back with null or empty arguments has none',
    steps: [null, '', '{}'].map((given) => {
      const call = { type: 'function_call', call_id: 'c1', name: 'get_time', arguments: given }
      const output = { type: 'function_call_output', call_id: 'c1', output: 'r' }
      return { path: '/v1/responses', body: { model: 'MODEL', input: [...user('u'), call, output, ...user('hi')] } }
    }),
    expect: [ok, { path: 'output.0.content.0.text', includes: 'hi' }],
  },
]

const unusualSchemas = [
  { properties: { x7: { anyOf: [true, { type: 'string' }] } } },
  { properties: { x7: { type: ['integer', 'null'], description: null } } },
  { properties: { x7: { enum: ['a', 1, null] } } },
  { properties: { x7: { type: 'object', additionalProperties: true, properties: { y: false } } } },
  { properties: { x7: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } },
  { properties: { x7: { type: 'array', items: true } }, required: null },
  { type: ['object', 'null'], properties: { x7: { type: 'string' } } },
].map((schema) => ({ type: 'object', ...schema }))

const schemas: readonly OurCase[] = [
  ...[
    'ByteDance-Seed-OSS',
    'GLM-4.6',
    'GigaChat3-10B-A1.8B',
    'MiniMax-M2',
    'NousResearch-Hermes-3-Llama-3.1-8B-tool_use',
    'Qwen3-Coder',
    'deepseek-ai-DeepSeek-V3.2',
    'google-gemma-4-31B-it',
    'meta-llama-Llama-3.1-8B-Instruct',
    'openai-gpt-oss-120b',
  ].map((template) => ({
    name: `tool-schema-${template}`,
    about: 'schemas that are valid and seldom seen are rendered',
    model: { template },
    steps: unusualSchemas.map((parameters) => {
      const tools = [{ type: 'function', function: { name: 'ping7', description: 'd', parameters } }]
      return { path: '/apply-template', body: { model: 'MODEL', messages: user('u'), tools } }
    }),
    expect: [ok, { path: 'prompt', includes: 'x7' }],
  })),
  {
    name: 'tool-schema-llama-server',
    about: 'schemas that are valid, and that llama-server would refuse, are served',
    model: { llamaServer: true },
    steps: [...unusualSchemas, {}, { type: 'object', properties: { v: false } }, { type: 'object', properties: null }].map(
      (parameters) => {
        const tools = [{ type: 'function', function: { name: 't', description: 'd', parameters } }]
        return chat({ max_tokens: 20, temperature: 0, messages: user('Use the tool.'), tools })
      },
    ),
    expect: [ok],
  },
]

const jsonSchema = { type: 'object', properties: { d: { enum: ['a', 'b'] } }, required: ['d'], additionalProperties: false }
const limits = { max_tokens: 120, temperature: 0, messages: user('Give JSON.') }
const constraints: readonly OurCase[] = [
  ...['deepseek-ai-DeepSeek-R1-Distill-Qwen-32B', 'Qwen-Qwen3-0.6B'].map((template) => ({
    name: `constraint-schema-${template}`,
    about: 'with a schema on a llama-server that reasons, the JSON is the content',
    model: { llamaServer: true as const, template },
    steps: wholeAndStreamed({
      ...limits,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: jsonSchema } },
    }),
    expect: [ok, { path: content, object: true as const }],
  })),
  {
    name: 'constraint-regex',
    about: 'with a regular expression on a llama-server that reasons, the match is the content',
    model: { llamaServer: true, template: 'Qwen3.5-4B' },
    steps: wholeAndStreamed({ ...limits, regex: '(yes|no)' }),
    expect: [ok, { path: content, oneOf: ['yes', 'no'] }],
  },
]

/** How servers refuse 32,000 tokens of output, for a prompt of 769 tokens where that matters. */
const tooLarge: readonly (readonly [server: string, error: Json])[] = [
  [
    'vllm',
    {
      object: 'error',
      message:
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has " +
        '769 input tokens (32000 > 32768 - 769).',
      code: 400,
    },
  ],
  [
    'sglang',
    {
      message:
        "Requested token count exceeds the model's maximum context length of 32769 tokens. You requested a total of 32769 tokens: 769 tokens " +
        'from the input messages and 32000 tokens for the completion.',
    },
  ],
  [
    'openai',
    {
      error: {
        message: 'max_tokens is too large: 32000. This model supports at most 31999 completion tokens.',
        param: 'max_tokens',
      },
    },
  ],
]

const limitsAndLoads: readonly OurCase[] = [
  {
    name: 'no-limit',
    about: '-1 is no limit, under each name of the limit',
    steps: ['max_completion_tokens', 'max_tokens', 'n_predict'].map((name) => chat({ [name]: -1, messages: user('hi') })),
    expect: [ok, { path: content, equals: 'hi' }],
  },
  {
    name: 'no-limit-completions',
    about: '-1 is no limit in completions',
    steps: ['max_tokens', 'n_predict'].map((name) => ({
      path: '/v1/completions',
      body: { model: 'MODEL', prompt: 'hi', [name]: -1 },
    })),
    expect: [ok, { path: 'choices.0.text', includes: 'hi' }],
  },
  ...tooLarge.map(([server, error]) => ({
    name: `output-limit-too-large-${server}`,
    about:
      'a server that refuses an output limit gets the one that it says it has room for, in each protocol, whole and streamed',
    model: { server },
    upstream: [
      ...['max_tokens', 'max_completion_tokens'].map((name) => ({ when: { [name]: 32_000 }, status: 400, json: error })),
      ...['max_tokens', 'max_completion_tokens'].map((name) => ({
        when: { [name]: 31_999 },
        sse: [delta({ content: 'ok' }), delta({}, 'stop')],
      })),
    ],
    steps: [
      ...wholeAndStreamed({ max_tokens: 32_000, messages: user('hi') }),
      { path: '/v1/messages', body: { model: 'MODEL', max_tokens: 32_000, messages: user('hi') } },
      { path: '/v1/responses', body: { model: 'MODEL', max_output_tokens: 32_000, input: 'hi' } },
      { path: '/api/chat', body: { model: 'MODEL', stream: false, messages: user('hi'), options: { num_predict: 32_000 } } },
    ],
    expect: [ok, { text: true as const, includes: 'ok' }],
  })),
  {
    name: 'unknown-architecture',
    about: 'an architecture that llama.cpp does not know is named, in each protocol',
    model: { gguf: { 'general.architecture': 'quuxformer' }, file: 'quux.gguf' },
    steps: [
      { path: '/v1/messages', body: { model: 'MODEL', max_tokens: 5, messages: user('hi') } },
      { path: '/v1/responses', body: { model: 'MODEL', input: 'hi' } },
    ],
    expect: [{ path: 'error.message', includes: 'quuxformer' }],
  },
]

/** Each kind of fault in other formats, protocols, templates and servers than where it was reported. */
export const ourCases: readonly OurCase[] = [
  ...callCases,
  ...stopSequences,
  ...histories,
  ...schemas,
  ...constraints,
  ...limitsAndLoads,
]
