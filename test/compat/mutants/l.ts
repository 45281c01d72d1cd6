import type { Mutant } from './mutant.ts'

const chat = 'src/dialect/openai-chat/encode.ts'
const stream = 'src/dialect/openai-chat/encode-stream.ts'
const messages = 'src/dialect/openai-chat/decode-messages.ts'
const sampling = 'src/dialect/openai/decode-sampling.ts'
const usage = 'src/dialect/openai/encode-usage.ts'
const headed = 'src/model-text/formats/headed-formats.ts'

/** Of LLaMA-Factory's API. */
export const mutants: readonly Mutant[] = [
  {
    rows: ['L4', 'L5'],
    file: 'src/dialect/scoring/scoring.ts',
    find: '      scores,\n',
    replace: '      scores: [...scores].reverse(),\n',
  },
  {
    rows: ['L6'],
    file: 'src/dialect/scoring/scoring.ts',
    find: ", ...(typeof wire.max_length === 'number' && { maxTokens: wire.max_length })",
    replace: '',
  },
  { rows: ['L12'], file: 'src/dialect/wire/unknown-keys.ts', find: 'found.ignored.add(path)', replace: 'found' },
  {
    rows: ['L14'],
    file: 'src/http/access/auth.ts',
    find: "const plain = [headers['x-api-key'], headers['x-admin-key']].flat()",
    replace: "const plain = [headers['x-admin-key']].flat()",
  },
  {
    rows: ['L16'],
    file: 'src/http/capture/capture.ts',
    find: 'redactBody(parsed(bodies.get(request) ?? []))',
    replace: 'null',
  },
  {
    rows: ['L18'],
    file: 'src/http/reply/error-reply.ts',
    find: "reply.header('retry-after', ",
    replace: "reply.header('x-retry', ",
  },
  {
    rows: ['L19', 'L54'],
    file: 'src/media/local-file.ts',
    find: 'file.startsWith(root.endsWith(sep) ? root : root + sep)',
    replace: "file !== '' && root !== sep",
  },
  {
    rows: ['L21'],
    file: 'src/http/access/cross-origin.ts',
    find: 'isSameOrigin(request) || isAllowed(request)) return',
    replace: 'isSameOrigin(request) || !isPreflight) return',
  },
  {
    rows: ['L23'],
    file: 'src/model-text/template/normalize-messages.ts',
    find: "message.role === 'developer' ? { ...message, role: 'system' }",
    replace: "message.role === 'developer' ? { ...message, role: 'user' }",
  },
  { rows: ['L25'], file: messages, find: '...content,\n        ...(refusal', replace: '...(refusal' },
  {
    rows: ['L29'],
    file: sampling,
    find: 'if (wire.do_sample !== false) return temperature',
    replace: 'if (wire) return temperature',
  },
  {
    rows: ['L33'],
    file: sampling,
    find: 'repetitionPenalty: pickSpelling(wire, spellingsOf.repetitionPenalty)',
    replace: 'repetitionPenalty: undefined',
  },
  {
    rows: ['L31'],
    file: sampling,
    find: 'topP: wire.top_p ?? undefined',
    replace: 'topP: undefined',
  },
  {
    rows: ['L35'],
    file: 'src/http/reply/reply-headers.ts',
    find: `\`\${name};asked=\${shortened.asked};room=\${shortened.room}\``,
    replace: 'name',
  },
  {
    rows: ['L36', 'L99'],
    file: 'src/dialect/openai/decode-common.ts',
    find: "const sequences = typeof stop === 'string' ? [stop] : (stop ?? [])",
    replace: "const sequences = typeof stop === 'string' ? [stop] : (stop ?? []).slice(0, 1)",
  },
  {
    rows: ['L43', 'L44'],
    file: 'src/model-text/template/order-results.ts',
    find: 'ranked.sort((a, b) => a.rank - b.rank)',
    replace: 'ranked',
  },
  {
    rows: ['L55'],
    file: 'src/media/address.ts',
    find: "if (address.range() !== 'unicast' || ",
    replace: 'if (',
  },
  {
    rows: ['L57'],
    file: 'src/dialect/openai-chat/decode-media.ts',
    find: ", ...(typeof detail === 'string' && { detail })",
    replace: '',
  },
  {
    rows: ['L98'],
    file: messages,
    find: "const position = content.findIndex(({ type }) => type !== 'text')",
    replace: 'const position = -1',
  },
  {
    rows: ['L32', 'L67'],
    file: stream,
    find: `{"index":\${choice},"delta":{`,
    replace: '{"index":0,"delta":{',
  },
  { rows: ['L64', 'L70'], file: usage, find: 'total_tokens: inputTokens + outputTokens', replace: 'total_tokens: inputTokens' },
  {
    rows: ['L62', 'L74'],
    file: chat,
    find: "text === '' && (calls.length > 0 || refusal !== '') ? null : text",
    replace: "calls.length > 0 || refusal !== '' ? null : text",
  },
  { rows: ['L63', 'L68'], file: chat, find: "  length: 'length'", replace: "  length: 'stop'" },
  {
    rows: ['L71'],
    file: headed,
    find: "const name = yield* readNameBefore(feed, ['\\n', ...turnEnds])",
    replace: "const name = yield* readNameBefore(feed, ['\\n', '-', ...turnEnds])",
  },
  {
    rows: ['L80'],
    file: headed,
    find: 'yield* space(feed)\n    if (!(yield* objectIsNext(feed))) return false\n    writer.open(tool)\n    yield* readArguments(writer, tool)',
    replace: 'yield* space(feed)\n    writer.open(tool)\n    writer.arguments("{}")',
  },
  {
    rows: ['L83'],
    file: 'src/model-text/formats/python-calls.ts',
    find: 'written === undefined || (isFirst && isMisnamed(written, names, tool)) ? names[keys.size] : written',
    replace: 'written',
  },
  {
    rows: ['L86', 'L89'],
    file: chat,
    find: "both: ['reasoning_content', 'reasoning']",
    replace: "both: ['reasoning_content']",
  },
  {
    rows: ['L87', 'L88'],
    file: 'src/model-text/template/reasoning-variables.ts',
    find: '      preserve_thinking: preserve,\n',
    replace: '',
  },
  {
    rows: ['L90'],
    file: 'src/dialect/openai-chat/encode.ts',
    find: 'top_logprobs: token.top.map(encodeToken)',
    replace: 'top_logprobs: []',
  },
  {
    rows: ['L104'],
    file: 'src/core/checks/ignored-by-template.ts',
    find: "[['reasoning', 'enabled']]",
    replace: '[]',
  },
  {
    rows: ['L2', 'L65'],
    file: 'src/dialect/openai/chunk-template.ts',
    find: "const done = 'data: [DONE]\\n\\n'",
    replace: "const done = ''",
  },
]
