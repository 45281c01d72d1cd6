import type { Mutant } from './mutant.ts'

const chat = 'src/dialect/openai-chat/encode.ts'
const stream = 'src/dialect/openai-chat/encode-stream.ts'
const tools = 'src/dialect/openai-chat/decode-tools.ts'
const sampling = 'src/dialect/openai/decode-sampling.ts'
const common = 'src/dialect/openai/decode-common.ts'
const format = 'src/dialect/openai/decode-output.ts'
const chunks = 'src/dialect/openai/chunk-template.ts'
const times = 'src/dialect/openai/times/encode-timings.ts'
const completions = 'src/dialect/openai-completions/decode.ts'
const logprobs = 'src/dialect/openai-completions/encode-logprobs.ts'
const embeddings = 'src/dialect/openai-embeddings/embeddings.ts'
const debug = 'src/dialect/mlc/debug-config.ts'

/** Of MLC-LLM serve. */
export const mutants: readonly Mutant[] = [
  {
    rows: ['M9'],
    file: 'src/dialect/mlc/event-trace.ts',
    find: "if (decodeMs !== undefined) events.push(...phase('decode', firstAtMs, firstAtMs + decodeMs))",
    replace: '',
  },
  {
    rows: ['M11'],
    file: 'src/dialect/mlc/engine-metrics.ts',
    find: 'const last = costs.at(-1)',
    replace: 'const last = undefined',
  },
  {
    rows: ['M12'],
    file: 'src/http/routes/local-servers/routes-mlc.ts',
    find: 'resetsOf(deps).set(model, Date.now())',
    replace: '',
  },
  { rows: ['M13'], file: 'src/registry/names/aliases.ts', find: "alias.includes('*') && ", replace: "!alias.includes('*') && " },
  {
    rows: ['M14'],
    file: 'src/http/run/default-model.ts',
    find: "return model === undefined || model === null || model === '' ?",
    replace: 'return model === null ?',
  },
  {
    rows: ['M17'],
    file: 'src/engine/llama/run-on-worker.ts',
    find: 'return { cachedInputTokens: cachedTokens, ...(',
    replace: 'return { cachedInputTokens: 0, ...(',
  },
  {
    rows: ['M5', 'M21'],
    file: 'src/http/routes/own/routes-ops.ts',
    find: "'/metrics', { config: { scope: 'metrics' }",
    replace: "'/metrics', { config: { scope: 'public' }",
  },
  {
    rows: ['M22'],
    file: 'src/http/access/cross-origin.ts',
    find: "isPreflight: (method, request) =>\n      method === 'OPTIONS'",
    replace: "isPreflight: (method, request) =>\n      method === 'HEAD'",
  },
  {
    rows: ['M25'],
    file: 'src/dialect/openai-chat/decode-messages.ts',
    find: 'this.#push({ role: message.role, content, ...name }, at, paths)',
    replace: 'this.#push({ role: message.role, content }, at, paths)',
  },
  {
    rows: ['M28'],
    file: sampling,
    find: 'frequencyPenalty: wire.frequency_penalty ?? undefined',
    replace: 'frequencyPenalty: undefined',
  },
  { rows: ['M30'], file: sampling, find: 'logitBias: decodeLogitBias(wire)', replace: 'logitBias: undefined' },
  { rows: ['M34'], file: sampling, find: 'const anySeed = -1', replace: 'const anySeed = -2' },
  {
    rows: ['M36'],
    file: sampling,
    find: '...readTokens(wire.stop_token_ids ?? []), ...mixed',
    replace: '...mixed',
  },
  {
    rows: ['M31'],
    file: common,
    find: 'return limit === undefined || limit < 0 ? undefined : limit',
    replace: 'return limit === undefined ? undefined : Math.abs(limit)',
  },
  {
    rows: ['M35'],
    file: chat,
    find: '...(choice.finish.stopSequence !== undefined && { stop_reason: choice.finish.stopSequence }),',
    replace: '',
  },
  {
    rows: ['M40', 'M62'],
    file: tools,
    find: "return { type: 'required', names: [requireDeclared(choice.function.name, declaredIn(tools, 'function'), 'tool_choice')] }",
    replace: "return { type: 'auto' }",
  },
  {
    rows: ['M43'],
    file: 'src/http/request-id.ts',
    find: "typeof sent === 'string' && ",
    replace: "typeof sent === 'number' && ",
  },
  {
    rows: ['M44'],
    file: format,
    find: 'return isGiven(format.schema)\n        ? {',
    replace: "return format.type === 'json'\n        ? {",
  },
  {
    rows: ['M45'],
    file: format,
    find: 'return decodeJsonSchema(format.json_schema)',
    replace: "return { constraint: { type: 'json-object' }, param: path }",
  },
  {
    rows: ['M46'],
    file: debug,
    find: '{ ...withoutStops(rest), ignore_eos: true }',
    replace: '{ ...withoutStops(rest) }',
  },
  {
    rows: ['M48'],
    file: debug,
    find: "const asksMetrics = wire.special_request === 'query_engine_metrics'",
    replace: 'const asksMetrics = false',
  },
  {
    rows: ['M50'],
    file: debug,
    find: "if (wire.disagg_config !== undefined) refuseValue(disaggregation, 'debug_config.disagg_config', wire.disagg_config)",
    replace: '',
  },
  {
    rows: ['M53'],
    file: 'src/model-text/template/normalize-messages.ts',
    find: 'const folded = traits.systemAnywhere ? merged : foldSystemMessages(merged, traits)',
    replace: "const folded = merged.filter(({ role }, place) => place === 0 || role !== 'system')",
  },
  {
    rows: ['M60'],
    file: 'src/dialect/openai-chat/decode-media.ts',
    find: "if (typeof image === 'string') return mediaByUrl('image', image)",
    replace: "if (typeof image === 'string') return mediaByUrl('audio', image)",
  },
  {
    rows: ['M68'],
    file: stream,
    find: 'const index = callsOf(choice).push({ id, kind }) - 1',
    replace: 'const index = Math.min(0, callsOf(choice).push({ id, kind }) - 1)',
  },
  {
    rows: ['M72'],
    file: stream,
    find: 'if (this.#started[choice] === true) return',
    replace: 'if (this.#started[choice] === false) return',
  },
  {
    rows: ['M71'],
    file: chunks,
    find: `return \`data: \${toFrameJson(encodeOpenaiError(error).body)}\\n\\n\${done}\``,
    replace: 'return error === undefined ? "" : done',
  },
  {
    rows: ['M74', 'M83'],
    file: chunks,
    find: 'if (!this.#includeUsage) return done',
    replace: 'if (this.#object !== "") return done',
  },
  {
    rows: ['M75'],
    file: times,
    find: "...(times.includes('mlc') && { extra: encodeMlcTimes(cost) })",
    replace: '',
  },
  {
    rows: ['M77', 'M106'],
    file: completions,
    find: "if (isTokens(prompt)) return [{ type: 'tokens', tokens: prompt }]",
    replace: "if (isTokens(prompt)) return [{ type: 'tokens', tokens: prompt.slice(0, 1) }]",
  },
  {
    rows: ['M78'],
    file: completions,
    find: `...rest.map((prompt, index) => ({ id: \`\${requestId}-\${index + 1}\`, ...shared, prompt })),`,
    replace: `...rest.map((_, index) => ({ id: \`\${requestId}-\${index + 1}\`, ...shared })),`,
  },
  {
    rows: ['M79'],
    file: completions,
    find: 'wire.echo === true && !echoesTokens ? textOf(prompt)',
    replace: "wire.echo === true ? ''",
  },
  { rows: ['M82'], file: logprobs, find: 'encoded.text_offset.push(this.#offset)', replace: 'encoded.text_offset.push(0)' },
  {
    rows: ['M84', 'M88'],
    file: embeddings,
    find: "({ object: 'embedding', index, embedding",
    replace: "({ object: 'embedding', index: index + 1, embedding",
  },
  {
    rows: ['M86'],
    file: embeddings,
    find: 'bytes.writeFloatLE(value, index * 4)',
    replace: 'bytes.writeFloatBE(value, index * 4)',
  },
  {
    rows: ['M87'],
    file: 'src/core/uses/embed.ts',
    find: 'return length === 0 ? kept : kept.map((value) => value / length)',
    replace: 'return length >= 0 ? kept : kept.map((value) => value / length)',
  },
  {
    rows: ['M61'],
    file: tools,
    find: `const tools = (wire.tools ?? []).map((tool, index) => decodeTool(tool, \`tools[\${index}]\`))`,
    replace: `const tools = wire.tools?.length === 0 ? [{ name: 'none' }] : (wire.tools ?? []).map((tool, index) => decodeTool(tool, \`tools[\${index}]\`))`,
  },
  {
    rows: ['M97'],
    file: 'src/engine/remote/generate-reply.ts',
    find: 'const canContinue = this.#remaining(this.#plan.request, upstream) !== undefined',
    replace: 'const canContinue = false',
  },
  {
    rows: ['M91', 'M96'],
    file: 'src/dialect/openai/models.ts',
    find: '...(servers !== undefined && { servers: servers.map(encodeServer) }),',
    replace: '',
  },
  {
    rows: ['M105'],
    file: tools,
    find: "choice === 'none' || choice === 'auto') return",
    replace: "choice === 'none') return",
  },
]
