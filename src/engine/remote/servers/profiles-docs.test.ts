import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Profile, profileNames } from './profile.ts'
import { profileIn, protocolOf } from './protocols.ts'

const page = fileURLToPath(new URL('../../../../docs/engines/remote-servers.md', import.meta.url))

const rows: readonly [string, (profile: Profile) => boolean | string][] = [
  ['protocol of conversations', ({ protocol }) => protocol],
  ['several choices in one request (`n`)', ({ choices }) => (choices ? true : 'one request each')],
  [
    'log-probabilities',
    ({ logprobs, mostTop, since }) => {
      if (since?.has.logprobs === true) return `since ${since.version.join('.')}`
      return mostTop === undefined ? logprobs : `at most ${mostTop}`
    },
  ],
  ['those of a prompt (`echo`)', ({ scoresPrompts }) => scoresPrompts === true],
  ['`top_k`', ({ fields }) => fields.topK !== undefined],
  ['`min_p`', ({ fields }) => fields.minP !== undefined],
  ['repetition penalty', ({ fields }) => fields.repetitionPenalty !== undefined],
  ['its range', ({ fields }) => fields.repetitionRange !== undefined],
  ['XTC, DRY', ({ fields }) => fields.xtc === true && fields.dry === true],
  ['typical, top-nσ, mirostat, an order, …', ({ fields }) => fields.others ?? (fields.some === undefined ? false : 'some')],
  ['top-a, smoothing, banned strings, …', ({ fields }) => fields.own ?? (fields.some === undefined ? false : 'some')],
  ['allowed tokens', ({ fields }) => fields.allowedTokens !== undefined],
  ['stop tokens', ({ fields }) => fields.stopTokens !== undefined],
  ['`ignore_eos`', ({ fields }) => fields.ignoreEos !== undefined],
  ['a minimum of tokens', ({ fields }) => fields.minOutputTokens !== undefined],
  ['`seed`', ({ fields }) => fields.seed !== undefined],
  ['presence and frequency penalty', ({ fields }) => fields.frequencyPenalty !== undefined],
  ['`logit_bias`', ({ logitBias }) => logitBias],
  ['JSON mode', (profile) => (isOurs(profile) ? 'by our grammar' : profile.jsonObject)],
  ['JSON Schema', (profile) => (isOurs(profile) ? 'by our grammar' : profile.jsonSchema)],
  ['regular expressions', ({ regex, takesOurGrammars }) => (takesOurGrammars ? 'by our grammar' : regex !== undefined)],
  ['GBNF', ({ gbnf }) => gbnf !== undefined],
  ['required tool calls', ({ toolChoice, takesOurGrammars }) => (takesOurGrammars ? 'then by grammar' : toolChoice !== 'none')],
  ['`parallel_tool_calls`', ({ parallelToolCalls }) => parallelToolCalls],
  ['template variables, thinking', ({ templateVariables }) => (templateVariables ? true : 'effort only')],
  [
    'a limit on thinking',
    ({ name, protocol, reasoningBudget }) =>
      name === 'llama-server' ? 'where it has it' : reasoningBudget === true || protocol === 'messages',
  ],
  ['fill in the middle (`suffix`)', ({ suffix }) => suffix],
  ['continues a partial reply', ({ continuation }) => continuation !== undefined],
  ['reports the stop sequence', ({ stopsHere, stopsAnswers }) => (stopsHere || stopsAnswers !== true ? 'found by us' : true)],
  ['running usage', ({ runningUsage, stopsHere }) => runningUsage || stopsHere],
  ["OpenAI's fields about the caller", ({ forwards }) => forwards === true],
  ['role `developer`', ({ developerRole }) => (developerRole === true ? true : 'as `system`')],
  ['documents', ({ reads }) => reads.file],
  ['tokenizer', ({ tokenizer }) => (tokenizer === 'messages' ? 'counts' : tokenizer !== undefined)],
  ['health check', ({ health }) => `\`${health.fromRoot ? '' : '…/v1'}${health.path}\``],
]

function isOurs({ takesOurGrammars, since }: Profile): boolean {
  return takesOurGrammars === true || since?.has.prefersGrammars === true
}

/** The table of all profiles. */
function table(): string {
  const kinds = profileNames.map((kind) => profileIn(kind, protocolOf(kind)))
  const cell = (value: boolean | string) => (typeof value === 'string' ? value : value ? 'yes' : 'no')
  const lines = [
    ['', ...kinds.map(({ name }) => `\`${name}\``)],
    ...rows.map(([title, read]) => [title, ...kinds.map((profile) => cell(read(profile)))]),
  ]
  const widths = ['', ...kinds]
    .map((_, column) => column)
    .map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const write = (line: readonly string[]) => `| ${line.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = lines
  return [write(head), write(widths.map((width) => '-'.repeat(width))), ...body.map(write)].join('\n')
}

test('the table in docs/engines/remote-servers.md shows the profiles', async () => {
  const text = readFileSync(page, 'utf8')
  const [start, end] = ['<!-- kinds -->\n\n', '\n\n<!-- /kinds -->']
  const before = text.slice(0, text.indexOf(start) + start.length)
  await expect(before + table() + text.slice(text.indexOf(end))).toMatchFileSnapshot(page)
})
