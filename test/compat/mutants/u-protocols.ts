import type { Mutant } from './mutant.ts'

const responses = 'src/dialect/openai-responses'
const anthropic = 'src/dialect/anthropic'

/** Of Unsloth Studio's Responses and Messages. */
export const mutants: readonly Mutant[] = [
  {
    rows: ['U159'],
    file: `${responses}/decode-items.ts`,
    find: "if (instructions !== '') {",
    replace: "if (instructions === '') {",
  },
  { rows: ['U160', 'U161'], file: `${responses}/decode.ts`, find: 'sampling: decodeSampling(wire),', replace: 'sampling: {},' },
  { rows: ['U162'], file: `${responses}/decode.ts`, find: '...decodeLimits(wire),', replace: '' },
  {
    rows: ['U163', 'U204'],
    file: `${responses}/encode/encoder.ts`,
    find: "status === 'completed' || status === 'failed' ? status : 'incomplete'",
    replace: "status === 'completed' ? 'done' : status",
  },
  {
    rows: ['U166'],
    file: `${responses}/decode.ts`,
    find: 'parallelToolCalls: wire.parallel_tool_calls ?? true',
    replace: 'parallelToolCalls: true',
  },
  {
    rows: ['U167', 'U199'],
    file: `${responses}/response-head.ts`,
    find: 'previous_response_id: previousResponseId ?? null',
    replace: 'previous_response_id: null',
  },
  {
    rows: ['U169', 'U195'],
    file: `${responses}/response-head.ts`,
    find: 'metadata: wire.metadata ?? {}',
    replace: 'metadata: {}',
  },
  {
    rows: ['U170'],
    file: `${responses}/decode.ts`,
    find: "truncation: wire.truncation ?? 'disabled'",
    replace: "truncation: 'disabled'",
  },
  {
    rows: ['U203'],
    file: `${responses}/response-head.ts`,
    find: "truncation: wire.truncation ?? 'disabled'",
    replace: "truncation: 'disabled'",
  },
  { rows: ['U171'], file: `${responses}/decode.ts`, find: '...decodeForwarded(wire),', replace: '' },
  { rows: ['U172'], file: `${responses}/decode.ts`, find: 'output: constraint,', replace: "output: { type: 'text' }," },
  { rows: ['U173'], file: `${responses}/decode.ts`, find: 'reasoning: decodeReasoning(wire),', replace: 'reasoning: {},' },
  { rows: ['U179'], file: `${responses}/decode-content.ts`, find: "? mediaByUrl('image', image_url)", replace: '? undefined' },
  {
    rows: ['U177'],
    file: `${responses}/decode-items.ts`,
    find: 'this.#ignored.push(path)\n    this.#leftOut++',
    replace: 'this.#leftOut++',
  },
  {
    rows: ['U187', 'U193'],
    file: `${responses}/response-end.ts`,
    find: "length: { status: 'incomplete', incomplete: 'max_output_tokens' }",
    replace: "length: { status: 'completed' }",
  },
  {
    rows: ['U191'],
    file: `${responses}/response-end.ts`,
    find: 'total_tokens: inputTokens + outputTokens',
    replace: 'total_tokens: outputTokens',
  },
  {
    rows: ['U192'],
    file: `${responses}/response-end.ts`,
    find: 'message: encodeOpenaiError(error).body.error.message',
    replace: "message: ''",
  },
  {
    rows: ['U196', 'U197'],
    file: `${responses}/response-head.ts`,
    find: '...given({ temperature, top_p: topP, ',
    replace: '...given({ temperature: 1, top_p: 1, ',
  },
  {
    rows: ['U200'],
    file: `${responses}/response-head.ts`,
    find: '{ ...named, schema, strict: strict ?? false }',
    replace: '{ ...named }',
  },
  {
    rows: ['U201'],
    file: `${responses}/response-head.ts`,
    find: "tool_choice: wire.tool_choice ?? 'auto'",
    replace: "tool_choice: 'auto'",
  },
  {
    rows: ['U206'],
    file: `${anthropic}/decode.ts`,
    find: '...(wire.max_tokens > 0 && { maxOutputTokens: wire.max_tokens }),',
    replace: '',
  },
  {
    rows: ['U208'],
    file: `${anthropic}/decode-messages.ts`,
    find: "decoder.addSystem(system ?? [], 'system')",
    replace: "decoder.addSystem([], 'system')",
  },
  {
    rows: ['U210'],
    file: `${anthropic}/decode-tools.ts`,
    find: 'return { type: choice.type }',
    replace: "return { type: 'auto' }",
  },
  {
    rows: ['U212', 'U213'],
    file: `${anthropic}/decode.ts`,
    find: "...(typeof temperature === 'number' && { temperature }),\n    ...(typeof top_p === 'number' && { topP: top_p }),",
    replace: '',
  },
  {
    rows: ['U214', 'U217'],
    file: `${anthropic}/decode.ts`,
    find: "...(typeof top_k === 'number' && { topK: Math.max(0, top_k) }),\n    ...(typeof min_p === 'number' && { minP: min_p }),",
    replace: '',
  },
  {
    rows: ['U218', 'U219'],
    file: `${anthropic}/decode.ts`,
    find: "...(typeof repetition_penalty === 'number' && { repetitionPenalty: repetition_penalty }),\n    ...(typeof presence_penalty === 'number' && { presencePenalty: presence_penalty }),",
    replace: '',
  },
  { rows: ['U215', 'U234'], file: `${anthropic}/decode.ts`, find: 'stop: wire.stop_sequences ?? [],', replace: 'stop: [],' },
  { rows: ['U221'], file: `${anthropic}/decode.ts`, find: '...(enabled && { names: [...new Set(enabled)] })', replace: '' },
  {
    rows: ['U225'],
    file: `${anthropic}/decode-blocks.ts`,
    find: 'mediaType === undefined || mediaType',
    replace: "(mediaType ?? '')",
  },
  {
    rows: ['U226'],
    file: `${anthropic}/decode-messages.ts`,
    find: "return { type: 'tool-call', id: block.id, name, input }",
    replace: "return { type: 'tool-call', id: 'x', name, input }",
  },
  {
    rows: ['U227'],
    file: `${anthropic}/decode-messages.ts`,
    find: "if (block.type === 'tool_result') this.#addResult(block, at)",
    replace: "if (block.type === 'tool_result') rest.push({ type: 'text', text: '' })",
  },
  { rows: ['U233'], file: `${anthropic}/encode.ts`, find: "'tool-calls': 'tool_use'", replace: "'tool-calls': 'end_turn'" },
  {
    rows: ['U235'],
    file: `${anthropic}/encode.ts`,
    find: 'input_tokens: inputTokens - cachedInputTokens',
    replace: 'input_tokens: 0',
  },
]
