import {
  type Answer,
  type Arguments,
  type ExpectedCall,
  type Family,
  json,
  type OutputCase,
  type WrittenCall,
} from './output-case.ts'

const oslo: WrittenCall = { name: 'get_weather', arguments: { city: 'Oslo', days: 3 } }
const now: WrittenCall = { name: 'now', arguments: {} }
const thought = 'The user wants the weather.\n\nI call a tool.'

/** What every family must be able to say: each is written in its spelling, and must come back. */
const scenarios: readonly { readonly name: string; readonly answer: Answer }[] = [
  { name: 'one call', answer: { calls: [oslo] } },
  { name: 'text before', answer: { text: 'I look it up: "Oslo" < 5 & [1].', calls: [oslo] } },
  { name: 'text after', answer: { calls: [oslo], after: '\nThat is all.' } },
  { name: 'two tools', answer: { text: 'Both.', calls: [oslo, now] } },
  { name: 'three calls, one tool twice', answer: { calls: [oslo, now, { name: 'get_weather', arguments: { city: 'Rome' } }] } },
  { name: 'no arguments', answer: { calls: [now] } },
  {
    name: 'nested arguments',
    answer: {
      calls: [
        {
          name: 'get_weather',
          arguments: {
            city: 'Oslo',
            options: {
              metric: true,
              note: 'a "b" {c} [d], e',
              ranges: [
                [1, 2.5],
                [-3, 4],
              ],
            },
            tags: ['x', 'y z'],
          },
        },
      ],
    },
  },
  {
    name: 'every kind of letter',
    answer: { calls: [one('query', 'Köln 東京 😀 é \u2028 "q" \'s\' \\ \\n / <b>&amp;</b> a\tb {}[]()=,: %')] },
  },
  {
    name: 'numbers with many digits',
    answer: {
      calls: [
        { name: 'get_weather', arguments: { city: 'Oslo', days: 12345678901234567890n, ratio: { digits: '1.0' } } },
        {
          name: 'get_weather',
          arguments: { city: 'Rome', days: -9007199254740993n, ratio: { digits: '0.10000000000000000001' } },
        },
      ],
    },
  },
  {
    name: 'digits and words that are text',
    answer: { calls: [one('query', '007'), one('query', 'true'), one('query', 'null')] },
  },
  { name: 'text with line breaks', answer: { calls: [one('query', 'def f():\n    return 1\n\n# end')] } },
  { name: 'text that ends with line breaks', answer: { calls: [one('query', '\none\n\n')] } },
  { name: 'text with spaces around', answer: { calls: [one('query', '  a  ')] } },
  { name: 'empty text', answer: { calls: [one('query', '')] } },
  { name: 'JSON as text', answer: { calls: [one('query', '{"name": "now", "arguments": {}}')] } },
  { name: 'a call after reasoning', answer: { thought, calls: [oslo] } },
  { name: 'text and a call after reasoning', answer: { thought, text: 'So:', calls: [oslo, now] } },
  { name: 'only text', answer: { text: 'Nothing to call.', calls: [] } },
  { name: 'text after reasoning', answer: { thought, text: 'Hello.', calls: [] } },
]

/** All cases of a family: the scenarios in its spelling, its marks inside of texts, and its own. */
export function casesOf(family: Family): readonly OutputCase[] {
  const { format, marks, except = {}, cases } = family
  const known = [
    ...scenarios,
    ...marks.map((mark) => ({ name: `a text with ${mark}`, answer: { calls: [one('query', `before ${mark} after`), now] } })),
  ]
  const spelled = known.map(
    ({ name, answer }): OutputCase => ({ name, raw: answerOf(family, answer), ...expected(family, answer) }),
  )
  const quoted = [
    { name: 'code span', raw: `Write \`${family.write([oslo])}\` to call.` },
    { name: 'fence', raw: `An example:\n\n\`\`\`\n${family.write([oslo])}\n\`\`\`\n\nThat is all.` },
    { name: 'unknown tool', raw: family.write([{ name: 'unknown_tool', arguments: { city: 'Oslo' } }]) },
  ].map((each): OutputCase => ({ ...each, text: each.raw }))
  const open: OutputCase = {
    name: 'call in open reasoning',
    raw: `I need the weather.\n${family.write([oslo])}`,
    startsInReasoning: true,
    reasoning: 'I need the weather.',
    calls: [callOf(oslo)],
  }
  const misspelled = [...writtenNames, ...(family.namesFirst === true ? [] : longerNames)].map(
    (name): OutputCase => ({
      name: `the name ${name}`,
      raw: family.write([
        { ...oslo, name },
        { ...now, name: 'NOW' },
      ]),
      calls: [callOf(oslo), callOf(now)],
    }),
  )
  const broken = hasJsonArguments(family) ? brokenArguments.map((each) => brokenCase(family, each)) : []
  const all = [...spelled, ...quoted, open, ...misspelled, ...broken].filter(({ name }) => except[name] === undefined)
  return [...all, ...cases].map((each) => ({ ...each, name: `${format}: ${each.name}` }))
}

/** What models write for `get_weather`. */
const writtenNames = ['Get_Weather', 'get-weather', 'getWeather', 'functions.get_weather']
const longerNames = ['functions_get_weather_3', 'weather:mcp:get_weather', 'mcp__weather__get_weather']

/** Arguments as models get them wrong, and what they are then: repaired, where only one thing can be meant, or left as they are. */
const brokenArguments = [
  { written: "{'query': 'a'}", arguments: '{"query": "a"}', state: 'repaired' },
  { written: '{"query": "a",}', arguments: '{"query": "a"}', state: 'repaired' },
  { written: '{{"query": "a"}}', arguments: '{"query": "a"}', state: 'repaired' },
  { written: '{{"query": "a"}', arguments: '{"query": "a"}', state: 'repaired' },
  { written: '{"query": "a\nb"}', arguments: '{"query": "a\\nb"}', state: 'repaired' },
  { written: '{"query" "a": 1}', arguments: '{"query" "a": 1}', state: 'unparseable' },
  { written: '{query is a}', arguments: '{query is a}', state: 'unparseable' },
] as const

const placeholder = 'PLACEHOLDER'

function hasJsonArguments(family: Family): boolean {
  return family.write([one('query', placeholder)]).includes(json({ query: placeholder }))
}

/** A call with broken arguments, and one behind it, which is read all the same. */
function brokenCase(family: Family, { written, ...call }: (typeof brokenArguments)[number]): OutputCase {
  const raw = answerOf(family, { calls: [one('query', placeholder), now] }).replace(json({ query: placeholder }), written)
  return { name: `broken arguments: ${written}`, raw, calls: [{ name: 'search', ...call }, callOf(now)] }
}

/** An answer as this family writes it. */
export function answerOf(family: Family, answer: Answer): string {
  if (family.answer !== undefined) return family.answer(answer)
  const { text = '', calls, after = '' } = answer
  const before = answer.thought === undefined ? '' : thoughtOf(family, answer.thought)
  return before + textOf(family, { text, calls }) + (calls.length === 0 ? '' : family.write(calls)) + after
}

function thoughtOf({ reasoning }: Family, words: string): string {
  return reasoning === undefined ? `<think>\n${words}\n</think>\n\n` : reasoning.open + words + reasoning.close
}

function textOf({ ownLine = false }: Family, { text = '', calls }: Answer): string {
  return ownLine && text !== '' && calls.length > 0 ? `${text}\n` : text
}

function expected(family: Family, answer: Answer): Pick<OutputCase, 'text' | 'reasoning' | 'calls'> {
  const { thought: reasoning, calls, after = '' } = answer
  return { text: textOf(family, answer) + after, ...(reasoning !== undefined && { reasoning }), calls: calls.map(callOf) }
}

function callOf({ name, arguments: values }: WrittenCall): ExpectedCall {
  return { name, arguments: json(values) }
}

function one(key: string, value: string): WrittenCall {
  const values: Arguments = { [key]: value }
  return { name: 'search', arguments: values }
}
