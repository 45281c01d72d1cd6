import type { StrictnessRow, StrictnessTable } from './row.ts'

const user = { role: 'user', content: 'hi' }
const text = { type: 'text', text: 'hi' }
const asked = { role: 'user', content: [text] }
const becomes = (...messages: readonly object[]) => ({ prompt: { messages } })
const called = { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] }
const call = (id: string) => ({ role: 'assistant', parts: [{ type: 'tool-call', id, name: 'f', input: '{"a":1}' }] })
const image = { type: 'media', kind: 'image', source: { type: 'base64', base64: 'AAAA' } }
const option = (name: string, value: unknown) => ({ options: { [name]: value } })

const options: readonly StrictnessRow[] = [
  {
    what: '`num_predict` below 0',
    sample: option('num_predict', -2),
    outcome: 'tolerated',
    becomes: { sampling: {} },
    note: 'no limit',
  },
  {
    what: '`num_predict` 0',
    sample: option('num_predict', 0),
    outcome: 'healed',
    becomes: { maxOutputTokens: 1 },
    note: 'an empty answer, which ends with `length`',
  },
  {
    what: '`num_predict` beyond the context',
    sample: option('num_predict', 1_000_000),
    outcome: 'tolerated',
    becomes: { maxOutputTokens: 1_000_000 },
    note: 'the answer ends with `length` where the context is full',
  },
  { what: '`num_ctx`', sample: option('num_ctx', 8192), outcome: 'tolerated', note: "the model's context is the operator's" },
  {
    what: 'options of loading, such as `num_gpu`',
    sample: { options: { num_gpu: 99, num_thread: 8, num_batch: 512, use_mmap: true, num_keep: 4 } },
    outcome: 'tolerated',
    note: "the operator's",
  },
  {
    what: '`stop` as one text',
    sample: option('stop', 'END'),
    outcome: 'healed',
    becomes: { stop: ['END'] },
    note: 'a list of one',
  },
  {
    what: 'samplers that are off',
    sample: { options: { mirostat: 0, tfs_z: 1, typical_p: 1, top_a: 0, smoothing_factor: 0, penalize_newline: true } },
    outcome: 'tolerated',
    becomes: { sampling: { typicalP: 1, mirostat: { version: 0 } } },
    note: 'the same as leaving them out, unless the operator has defaults for them',
  },
  {
    what: '`penalty_alpha` 0.5',
    sample: option('penalty_alpha', 0.5),
    outcome: 'refused',
    param: 'options.penalty_alpha',
    note: '',
  },
  {
    what: 'several options that are refused',
    sample: { options: { penalty_alpha: 0.5, epsilon_cutoff: 0.5 } },
    outcome: 'refused',
    param: 'options.penalty_alpha',
    note: 'one error names all of them',
  },
  {
    what: 'a value of another type',
    sample: option('top_k', 'many'),
    outcome: 'refused',
    param: 'options.top_k',
    note: '',
  },
  {
    what: 'null in `options`',
    sample: { options: { temperature: null, stop: null, mirostat: null } },
    outcome: 'tolerated',
    becomes: { sampling: {}, stop: [] },
    note: 'the same as leaving it out',
  },
  {
    what: 'an unknown option',
    sample: option('mood', 'good'),
    outcome: 'tolerated',
    ignored: ['options.mood'],
    note: '',
  },
]

const common: readonly StrictnessRow[] = [
  { what: 'no model', sample: { model: '' }, outcome: 'refused', param: 'model', note: '' },
  {
    what: '`think` true',
    sample: { think: true },
    outcome: 'tolerated',
    becomes: { reasoning: { enabled: true } },
    note: '400 where the model does not think',
  },
  {
    what: '`think` as an effort',
    sample: { think: 'low' },
    outcome: 'tolerated',
    becomes: { reasoning: { enabled: true, effort: 'low' } },
    note: '',
  },
  { what: '`think` as another text', sample: { think: 'hard' }, outcome: 'refused', param: 'think', note: '' },
  { what: 'an empty `format`', sample: { format: '' }, outcome: 'healed', becomes: { output: { type: 'text' } }, note: 'none' },
  { what: 'another `format`', sample: { format: 'xml' }, outcome: 'refused', param: 'format', note: '' },
  {
    what: '`top_logprobs` 21',
    sample: { logprobs: true, top_logprobs: 21 },
    outcome: 'refused',
    param: 'top_logprobs',
    note: '',
  },
  {
    what: '`top_logprobs` without `logprobs`',
    sample: { top_logprobs: 3 },
    outcome: 'tolerated',
    note: 'no log-probabilities',
  },
  { what: '`keep_alive` as a duration', sample: { keep_alive: '1h30m' }, outcome: 'tolerated', note: '' },
  { what: '`keep_alive` in other words', sample: { keep_alive: 'soon' }, outcome: 'refused', param: 'keep_alive', note: '' },
  { what: '`truncate` and `shift`', sample: { truncate: true, shift: true }, outcome: 'tolerated', note: 'nothing is cut' },
  { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
]

const chat: readonly StrictnessRow[] = [
  {
    what: 'a role in capital letters',
    sample: { messages: [{ ...user, role: 'User' }] },
    outcome: 'healed',
    becomes: becomes(asked),
    note: 'the same',
  },
  {
    what: 'another role',
    sample: { messages: [{ ...user, role: 'developer' }] },
    outcome: 'refused',
    param: 'messages[0].role',
    note: '',
  },
  {
    what: 'a message without content',
    sample: { messages: [{ role: 'user' }] },
    outcome: 'healed',
    becomes: becomes({ role: 'user', content: [{ type: 'text', text: '' }] }),
    note: 'an empty text',
  },
  {
    what: 'images of a message',
    sample: { messages: [{ ...user, images: ['AAAA'] }] },
    outcome: 'tolerated',
    becomes: becomes({ role: 'user', content: [image, text] }),
    note: 'before its text',
  },
  {
    what: 'an image as a `data:` URL',
    sample: { messages: [{ ...user, images: ['data:image/png;base64,AAAA'] }] },
    outcome: 'healed',
    becomes: becomes({
      role: 'user',
      content: [{ type: 'media', kind: 'image', source: { type: 'url', url: 'data:image/png;base64,AAAA' } }, text],
    }),
    note: 'the bytes in it',
  },
  {
    what: 'a call without an id, and its result without an id or a name',
    sample: { messages: [called, { role: 'tool', content: 'hi' }] },
    outcome: 'healed',
    becomes: becomes(call('call_0_0'), { role: 'tool', toolCallId: 'call_0_0', content: [text] }),
    note: 'the first call that has no result',
  },
  {
    what: 'a result with `tool_name`',
    sample: {
      messages: [
        { ...called, tool_calls: [{ function: { name: 'g' } }, ...called.tool_calls] },
        { role: 'tool', tool_name: 'f', content: 'hi' },
      ],
    },
    outcome: 'healed',
    becomes: becomes(
      { role: 'assistant', parts: [{ id: 'call_0_0', name: 'g', input: '{}' }, { id: 'call_0_1' }] },
      { role: 'tool', toolCallId: 'call_0_1', name: 'f' },
    ),
    note: 'the first open call of that name',
  },
  {
    what: 'arguments as JSON text',
    sample: {
      messages: [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{"a":1}' } }] }],
    },
    outcome: 'healed',
    becomes: becomes(call('c')),
    note: 'the same',
  },
  {
    what: 'a call without arguments: null, absent, an empty text, or `[]`',
    sample: { messages: [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: [] } }] }] },
    outcome: 'healed',
    becomes: becomes({ role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'f', input: '{}' }] }),
    note: '`{}`',
  },
  {
    what: '`thinking` of an earlier turn',
    sample: { messages: [{ role: 'assistant', content: 'hi', thinking: 'hm' }] },
    outcome: 'tolerated',
    becomes: becomes({ role: 'assistant', parts: [{ type: 'reasoning', text: 'hm' }, text] }),
    note: '',
  },
  {
    what: 'parameters of a tool without `type`, and `properties` that are null or, as PHP writes an empty object, `[]`',
    sample: { tools: [{ function: { name: 'f', parameters: { properties: [] } } }] },
    outcome: 'healed',
    becomes: { prompt: { tools: [{ name: 'f', parameters: { properties: {} } }] } },
    note: 'an object without properties',
  },
  {
    what: 'a tool of another type',
    sample: { tools: [{ type: 'web', function: { name: 'f' } }] },
    outcome: 'refused',
    param: 'tools[0].type',
    note: '',
  },
  {
    what: 'an unknown field in a message',
    sample: { messages: [{ ...user, mood: 'good' }] },
    outcome: 'tolerated',
    ignored: ['messages[].mood'],
    note: '',
  },
]

const generate: readonly StrictnessRow[] = [
  {
    what: 'a prompt',
    sample: { system: 'be brief' },
    outcome: 'tolerated',
    becomes: becomes({ role: 'system', content: [{ type: 'text', text: 'be brief' }] }, asked),
    note: "one message of the user's, through the chat template",
  },
  {
    what: '`raw`',
    sample: { raw: true },
    outcome: 'tolerated',
    becomes: { prompt: { type: 'text', text: 'hi', readsControlTokens: true } },
    note: 'the text as it is; its control tokens are read',
  },
  { what: '`raw` with `system`', sample: { raw: true, system: 'x' }, outcome: 'refused', param: 'raw', note: '' },
  { what: '`raw` with images', sample: { raw: true, images: ['AAAA'] }, outcome: 'refused', param: 'images', note: '' },
  {
    what: '`suffix`',
    sample: { suffix: 'end' },
    outcome: 'tolerated',
    becomes: { prompt: { type: 'infill', prefix: 'hi', suffix: 'end' }, reasoning: {} },
    note: 'what stands between, without a chat template',
  },
  {
    what: '`system` and `think` with `suffix`',
    sample: { suffix: 'end', system: 'x', think: 'low' },
    outcome: 'tolerated',
    ignored: ['think', 'system'],
    becomes: { prompt: { type: 'infill', prefix: 'hi', suffix: 'end' }, reasoning: {} },
    note: 'only a chat template shows them',
  },
  { what: '`think` with `raw`', sample: { raw: true, think: true }, outcome: 'tolerated', ignored: ['think'], note: '' },
  { what: '`template`', sample: { template: '{{ .Prompt }}' }, outcome: 'refused', param: 'template', note: '' },
  { what: '`context`', sample: { context: [1, 2] }, outcome: 'refused', param: 'context', note: 'send messages' },
  {
    what: 'an empty `template` and `context`',
    sample: { template: '', context: [], system: '', suffix: '' },
    outcome: 'healed',
    becomes: becomes(asked),
    note: 'none',
  },
]

/** How Ollama's conversations are read. */
export const ollamaChatStrictness: StrictnessTable = {
  title: 'Ollama, POST /api/chat',
  base: { model: 'm', messages: [user] },
  rows: [...chat, ...common, ...options],
}

/** How Ollama's prompts are read. */
export const ollamaGenerateStrictness: StrictnessTable = {
  title: 'Ollama, POST /api/generate',
  base: { model: 'm', prompt: 'hi' },
  rows: generate,
}

/** How Ollama's calls for vectors are read. */
export const ollamaEmbedStrictness: StrictnessTable = {
  title: 'Ollama, POST /api/embed',
  base: { model: 'm', input: 'hi' },
  rows: [
    { what: 'one text', sample: {}, outcome: 'healed', becomes: { inputs: [text] }, note: 'a list of one' },
    {
      what: 'no text, or an empty one',
      sample: { input: '' },
      outcome: 'tolerated',
      becomes: { inputs: [] },
      note: 'the model is loaded',
    },
    { what: 'a number', sample: { input: 5 }, outcome: 'refused', param: 'input', note: '' },
    { what: '`dimensions` 0', sample: { dimensions: 0 }, outcome: 'healed', becomes: { model: 'm' }, note: 'all' },
    { what: '`truncate`', sample: { truncate: true }, outcome: 'tolerated', note: 'nothing is cut' },
    { what: '`options`', sample: { options: { num_ctx: 512 } }, outcome: 'tolerated', note: 'nothing is sampled' },
    { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
  ],
}
