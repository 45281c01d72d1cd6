import type { Mutant } from './mutant.ts'

const sampling = 'src/dialect/openai/decode-sampling.ts'
const common = 'src/dialect/openai/decode-common.ts'
const messages = 'src/dialect/openai-chat/decode-messages.ts'
const prompt = 'src/dialect/openai-chat/decode-prompt.ts'
const reasoning = 'src/dialect/openai-chat/decode-reasoning.ts'
const toolUse = 'src/dialect/openai-chat/decode.ts'
const generate = 'src/dialect/unsloth/dialect.ts'
const requests = 'src/dialect/unsloth/requests.ts'
const replies = 'src/dialect/unsloth/encode.ts'
const abilities = 'src/dialect/unsloth/template-abilities.ts'

/** Of Unsloth Studio's routes, models and chats. */
export const mutants: readonly Mutant[] = [
  // Routes.
  { rows: ['U2', 'U33'], file: 'src/lifecycle/service.ts', find: 'await this.#return(current, endsRequests)', replace: '' },
  {
    rows: ['U4', 'U86'],
    file: replies,
    find: 'active_model: active?.id ?? null',
    replace: 'active_model: models[0]?.id ?? null',
  },
  { rows: ['U9', 'U10'], file: 'src/http/routes/mounts.ts', find: "  '/messages',\n", replace: '' },
  {
    rows: ['U11'],
    file: 'src/dialect/unsloth/speech.ts',
    find: "wire.messages.findLast(({ role }) => role === 'user')",
    replace: "wire.messages.find(({ role }) => role === 'user')",
  },
  { rows: ['U12'], file: 'src/http/routes/own/routes-sandbox.ts', find: 'private, no-store', replace: 'public' },
  { rows: ['U15', 'U139', 'U147'], file: replies, find: 'thread_id: sessionId ?? null', replace: 'thread_id: null' },
  { rows: ['U21'], file: 'src/http/access/auth.ts', find: "[headers['x-api-key'], headers", replace: '[headers' },
  // Loads and unloads.
  {
    rows: ['U24', 'U60', 'U62', 'U85'],
    file: requests,
    find: '...(isSet(max_seq_length) && max_seq_length > 0 && { contextLength: max_seq_length }),',
    replace: '',
  },
  { rows: ['U26', 'U44'], file: replies, find: 'is_lora: isAdapter === true', replace: 'is_lora: false' },
  {
    rows: ['U29', 'U61', 'U71', 'U92'],
    file: requests,
    find: '&& { chatTemplate: chat_template_override }',
    replace: '&& {}',
  },
  {
    rows: ['U30', 'U76'],
    file: requests,
    find: '...(isSet(cache_type_kv) && { cacheTypeK: cache_type_kv, cacheTypeV: cache_type_kv }),',
    replace: '',
  },
  { rows: ['U32', 'U77', 'U99'], file: requests, find: '...(isSet(speculation) && { speculation }),', replace: '' },
  {
    rows: ['U258'],
    file: 'src/http/routes/local-servers/routes-unsloth.ts',
    find: '{ cancel_id: loadKey(loadRequestId) }',
    replace: '{}',
  },
  // The legacy route.
  { rows: ['U48'], file: generate, find: '[...system, ...wire', replace: '[...wire' },
  {
    rows: ['U49', 'U50', 'U51', 'U53', 'U54'],
    file: generate,
    find: '    sampling: {\n      temperature',
    replace: '    sampling: {},\n    unused: {\n      temperature',
  },
  // What loads and the status say.
  { rows: ['U83'], file: replies, find: 'is_vision: modalities?.image === true', replace: 'is_vision: false' },
  {
    rows: ['U59', 'U84'],
    file: replies,
    find: 'temperature: sampling?.temperature ?? null',
    replace: 'temperature: null',
  },
  {
    rows: ['U65', 'U87'],
    file: replies,
    find: 'variant !== undefined || facts.vocabularySize !== undefined',
    replace: 'true',
  },
  {
    rows: ['U69', 'U97'],
    file: replies,
    find: 'longestContexts?.[0]?.contextLength ?? facts.trainedContextLength',
    replace: 'contextLength',
  },
  {
    rows: ['U72', 'U93'],
    file: abilities,
    find: "if (source.includes('reasoning_effort')) return style('reasoning_effort')",
    replace: '',
  },
  {
    rows: ['U73', 'U94'],
    file: abilities,
    find: "return style('enable_thinking', true)",
    replace: "return style('enable_thinking')",
  },
  { rows: ['U74', 'U95'], file: abilities, find: "source.includes('preserve_thinking')", replace: 'false' },
  { rows: ['U75', 'U96', 'U100'], file: abilities, find: 'template === undefined ||', replace: 'true ||' },
  { rows: ['U5', 'U78'], file: replies, find: "phase: active === undefined ? null : 'ready'", replace: 'phase: null' },
  { rows: ['U82'], file: replies, find: "filter(({ state }) => state.type === 'ready').", replace: '' },
  // Messages.
  {
    rows: ['U105'],
    file: 'src/dialect/openai-chat/decode-media.ts',
    find: ", ...(typeof detail === 'string' && { detail })",
    replace: '',
  },
  { rows: ['U107', 'U108'], file: messages, find: 'refuseMisplaced(message, at)\n', replace: '\n' },
  {
    rows: ['U110'],
    file: messages,
    find: 'this.#ids.ofResult({ id, name: message.name }, ',
    replace: '((one, other) => one ?? other)(id, ',
  },
  {
    rows: ['U112', 'U115', 'U117', 'U119'],
    file: messages,
    find: 'this.messages.push(message)',
    replace: 'this.messages.unshift(message)',
  },
  { rows: ['U132', 'U248'], file: messages, find: "decoder.addBeside('audio_base64', 'audio', wire.audio_base64)", replace: '' },
  // Fields of chats.
  { rows: ['U121'], file: sampling, find: 'temperature: decodeTemperature(wire),', replace: '' },
  { rows: ['U122'], file: sampling, find: 'topP: wire.top_p ?? undefined,', replace: '' },
  {
    rows: ['U123', 'U149', 'U151'],
    file: common,
    find: 'decodeLimit(pickSpelling(wire, spellingsOf.limit) ?? assumedLimit)',
    replace: 'decodeLimit(assumedLimit)',
  },
  { rows: ['U125'], file: common, find: 'stop: decodeStop(wire),', replace: 'stop: [],' },
  {
    rows: ['U127'],
    file: 'src/dialect/openai-chat/decode-tools.ts',
    find: 'const toolChoice = decodeToolChoice(tool_choice,',
    replace: 'const toolChoice = decodeToolChoice(undefined,',
  },
  { rows: ['U128'], file: sampling, find: 'topK: wire.top_k === -1 ? 0 : (wire.top_k ?? undefined),', replace: '' },
  {
    rows: ['U144'],
    file: sampling,
    find: 'seed !== undefined && seed !== anySeed ? seed >>> 0',
    replace: 'seed !== undefined ? 1',
  },
  { rows: ['U134'], file: toolUse, find: 'wire.enable_tools !== true', replace: 'wire.enable_tools === undefined' },
  { rows: ['U135'], file: toolUse, find: '{ names: [...new Set(wire.enabled_tools)] }', replace: '{}' },
  {
    rows: ['U136', 'U242'],
    file: prompt,
    find: 'wire.auto_heal_tool_calls === false',
    replace: 'wire.auto_heal_tool_calls === null',
  },
  {
    rows: ['U137', 'U243'],
    file: toolUse,
    find: 'limitOf(wire.max_tool_calls_per_message) ?? maxTurns',
    replace: 'maxTurns',
  },
  {
    rows: ['U138'],
    file: toolUse,
    find: '(limitOf(timeoutSeconds) ?? 0) * 1000',
    replace: '(limitOf(timeoutSeconds) ?? 0) * 300',
  },
  {
    rows: ['U148'],
    file: toolUse,
    find: "wire.permission_mode === 'ask' || wire.confirm_tool_calls === true ? 'all' : 'marked'",
    replace: "'marked'",
  },
  { rows: ['U141'], file: reasoning, find: 'enabled: wire.enable_thinking ?? undefined', replace: 'enabled: undefined' },
  { rows: ['U143'], file: reasoning, find: 'wire.preserve_thinking ?? undefined', replace: 'undefined' },
  // Replies, and tools of the server.
  {
    rows: ['U150'],
    file: 'src/dialect/openai/chunk-template.ts',
    find: 'error(error: AppError): string {',
    replace: "error(error: AppError): string {\n    const done = ''",
  },
  {
    rows: ['U152'],
    file: 'src/dialect/openai/encode-usage.ts',
    find: 'cached_tokens: cachedInputTokens',
    replace: 'cached_tokens: 0 * cachedInputTokens',
  },
  { rows: ['U153'], file: 'src/dialect/openai-chat/encode.ts', find: 'timings: encodeTimings({ usage, timings }),', replace: '' },
  {
    rows: ['U155'],
    file: 'src/dialect/openai/tool-frames.ts',
    find: "return callFrame('tool_end', call, { result, ...(isError && { is_error: true }), ...images }) + status('')",
    replace: "return status('')",
  },
  {
    rows: ['U238'],
    file: 'src/model-text/scan/coerce-bare.ts',
    find: 'return coerceText(text, types) ?? guessed ?? JSON.stringify(text)',
    replace: 'return JSON.stringify(text)',
  },
  {
    rows: ['U243'],
    file: 'src/core/tool-loop/usage-sum.ts',
    find: 'outputTokens: before.outputTokens + usage.outputTokens',
    replace: 'outputTokens: usage.outputTokens',
  },
  {
    rows: ['U251'],
    file: 'src/http/reply/error-reply.ts',
    find: '{ detail: error.message, ...(body as object) } : body',
    replace: 'body : body',
  },
  { rows: ['U245'], file: 'src/core/tool-loop/conversation.ts', find: 'hints[kind]', replace: "''" },
  {
    rows: ['U246'],
    file: 'src/core/tool-loop/call-runner.ts',
    find: "use.approves === 'all' || tool.needsApproval === true",
    replace: "use.approves === 'all'",
  },
  { rows: ['U244'], file: 'src/tools/web/search.ts', find: 'ask(query, { ...options', replace: "ask('', { ...options" },
]
