import type { Mutant } from './mutant.ts'

const sampling = 'src/engine/llama/worker/sampling/sampling.ts'
const decoded = 'src/dialect/openai/decode-sampling.ts'
const load = 'src/dialect/tabby/load.ts'
const routes = 'src/http/routes/local-servers/routes-tabby.ts'
const rules = 'src/model-text/parse/choice-rules.ts'

/** Of what clients of tabbyAPI expect. */
export const mutants: readonly Mutant[] = [
  // Routes, loads and keys.
  {
    rows: ['T21', 'T34', 'T35'],
    file: routes,
    find: "scopes.has('admin') ? 'admin' : 'api'",
    replace: "scopes.has('admin') ? 'api' : 'admin'",
  },
  {
    rows: ['T12', 'T161'],
    file: routes,
    find: 'loaded.embedding = (await lifecycle.load(wanted, caller)).model.id',
    replace: 'await lifecycle.load(wanted, caller)',
  },
  { rows: ['T171'], file: routes, find: 'delete loaded.model\n', replace: '' },
  {
    rows: ['T8', 'T9', 'T154'],
    file: load,
    find: "typeof max_seq_len === 'number' && max_seq_len > 0 && { contextLength: max_seq_len }",
    replace: 'false',
  },
  { rows: ['T134', 'T155'], file: load, find: "(hasDraft ? finish('draft', 1) : '') + ", replace: '' },
  { rows: ['T157'], file: load, find: 'template: wire.prompt_template ?? undefined', replace: 'template: undefined' },
  {
    rows: ['T158'],
    file: 'src/http/reply/error-reply.ts',
    find: '{ detail: error.message, ...(body as object) }',
    replace: 'body',
  },
  {
    rows: ['T39'],
    file: 'src/lifecycle/service.ts',
    find: 'if (request.servesNameless === true || run.principal.isAnyone !== true) this.#chosen = base.id',
    replace: '',
  },
  // What is sampled.
  {
    rows: ['T50'],
    file: sampling,
    find: '(outputTokens < held.until ? early : fixed)',
    replace: '(outputTokens < 0 ? early : fixed)',
  },
  { rows: ['T56', 'T131'], file: sampling, find: 'if (!allowed.has(token)) fixed.set', replace: 'if (token < 0) fixed.set' },
  {
    rows: ['T57', 'T59'],
    file: sampling,
    find: 'float(temperature), float(spread), float(exponent)',
    replace: 'float(1), float(0), float(1)',
  },
  {
    rows: ['T58'],
    file: sampling,
    find: 'sampling.temperatureLast === false',
    replace: 'sampling.temperatureLast === undefined',
  },
  { rows: ['T60'], file: sampling, find: "[{ type: 'smoothing', ...smoothing }]", replace: '[]' },
  { rows: ['T61'], file: sampling, find: 'if (skew !== 0) ordered.push', replace: 'if (skew > 9) ordered.push' },
  {
    rows: ['T63', 'T64', 'T87'],
    file: sampling,
    find: "'top-k': [{ type: 'top_k', args: [int(topK)] }]",
    replace: "'top-k': []",
  },
  {
    rows: ['T65'],
    file: sampling,
    find: 'presencePenalty !== 0 || frequencyPenalty !== 0',
    replace: 'presencePenalty > 0 || frequencyPenalty > 0',
  },
  { rows: ['T66', 'T67'], file: sampling, find: 'repetitionPenalty !== 1 && range !== 0', replace: 'repetitionPenalty > 9' },
  {
    rows: ['T69'],
    file: sampling,
    find: 'mirostat !== undefined && mirostat.version > 0',
    replace: 'mirostat !== undefined && mirostat.version > 2',
  },
  { rows: ['T53'], file: decoded, find: '...mixed]', replace: ']' },
  { rows: ['T54'], file: decoded, find: 'bannedStrings: decodeBanned(wire)', replace: 'bannedStrings: undefined' },
  {
    rows: ['T55'],
    file: decoded,
    find: 'for (const token of bans === undefined ? [] : readTokens(bans.value))',
    replace: 'for (const token of [] as number[])',
  },
  {
    rows: ['T62', 'T152'],
    file: decoded,
    find: 'typicalP: pickSpelling(wire, spellingsOf.typical)',
    replace: 'typicalP: undefined',
  },
  {
    rows: ['T68'],
    file: decoded,
    find: 'sequenceBreakers: decodeBreakers(wire.dry_sequence_breakers)',
    replace: 'sequenceBreakers: undefined',
  },
  { rows: ['T82'], file: decoded, find: 'target === 1 ? -1 : (target ?? undefined)', replace: 'undefined' },
  {
    rows: ['T84'],
    file: decoded,
    find: 'negativePrompt: wire.negative_prompt ?? undefined',
    replace: 'negativePrompt: undefined',
  },
  { rows: ['T83'], file: decoded, find: 'loopWindow: wire.loop_detect_window ?? undefined', replace: 'loopWindow: undefined' },
  {
    rows: ['T51'],
    file: 'src/engine/remote/wire/body/sampling-fields.ts',
    find: 'if (minOutputTokens !== undefined && minOutputTokens > 0)',
    replace: 'if (minOutputTokens === 0)',
  },
  // Fields of requests.
  {
    rows: ['T45', 'T133'],
    file: 'src/dialect/openai/decode-common.ts',
    find: 'stream === true && (options.include_usage ?? false)',
    replace: 'false',
  },
  {
    rows: ['T49', 'T162', 'T172'],
    file: 'src/engine/fake/engine.ts',
    find: 'return maxOutputTokens ?? Number.POSITIVE_INFINITY',
    replace: 'return Math.max(4, maxOutputTokens ?? 4)',
  },
  { rows: ['T26'], file: 'src/dialect/presets/read-preset.ts', find: "if (force === true) return 'force'", replace: '' },
  {
    rows: ['T90'],
    file: 'src/dialect/presets/read-preset.ts',
    find: 'if (unknown !== undefined) {',
    replace: 'if (unknown === "") {',
  },
  // Templates and calls.
  {
    rows: ['T93'],
    file: 'src/model-text/template/template-metadata.ts',
    find: 'stops.filter(isText).slice(0, max.stops)',
    replace: '[]',
  },
  {
    rows: ['T94'],
    file: 'src/model-text/template/template-metadata.ts',
    find: '...(isText(start) && { toolStart: start }),',
    replace: '',
  },
  {
    rows: ['T106', 'T167'],
    file: 'src/dialect/openai-chat/decode-prompt.ts',
    find: "const responsePrefix = wire.response_prefix ?? ''",
    replace: "const responsePrefix = ''",
  },
  {
    rows: ['T126'],
    file: 'src/model-text/template/order-results.ts',
    find: 'ranked.sort((a, b) => a.rank - b.rank)',
    replace: 'ranked',
  },
  {
    rows: ['T119', 'T166'],
    file: 'src/canonical/callable-tools.ts',
    find: 'return functions.filter(({ name }) => names.has(name))',
    replace: 'return functions',
  },
  {
    rows: ['T114'],
    file: rules,
    find: 'makesThoughtCalls: format.callsInReasoning === true',
    replace: 'makesThoughtCalls: false',
  },
  // Replies.
  {
    rows: ['T128', 'T129', 'T153'],
    file: 'src/dialect/openai-chat/encode.ts',
    find: '...(choice.finish.stopSequence !== undefined && { stop_reason: choice.finish.stopSequence }),',
    replace: '',
  },
  {
    rows: ['T130'],
    file: 'src/dialect/openai-chat/encode.ts',
    find: 'encodeUsage({ usage, timings }, style.usageTimes)',
    replace: 'encodeUsage({ usage, timings })',
  },
  {
    rows: ['T123', 'T170'],
    file: 'src/dialect/openai-chat/encode-stream.ts',
    find: 'return this.#heads[choice]',
    replace: "return this.#heads[0] ?? ''",
  },
  {
    rows: ['T148'],
    file: 'src/http/capture/capture.ts',
    find: 'body: redactBody(parsed(bodies.get(request) ?? []))',
    replace: 'body: null',
  },
]
