import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Constructions that take two readings, and what to write in their place. */
const turned: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bso (?:many|long)\b(?! (?:as|that)\b)/i, 'this many, this long, or the number itself'],
  [/\bat once\b/i, 'immediately, or together'],
  [/(?:^|[.:;] )What (?:an?|the|each|every)\b/, 'a noun: "the names of a model" for "what a model is called"'],
  [/(?:^|\. )Of\b/, 'the noun, then "of": "the size of a file" for "of a file, its size"'],
  [/\bnone of\b/i, 'not any of, or a verb with "not"'],
  [/(?<!\bthere )\b(?:is|are|was|were) (?:none\b|no (?!longer\b|more\b)[a-z])/i, 'is not a'],
  [/\b(?:is|are|was|were) told\b/i, 'who reports it: "the client learns"'],
  [/\b(?:go|goes|going|went) on\b/i, 'continues'],
  [/\b(?:whatever|whoever|whichever)\b/i, 'any'],
  [/\bto be had\b|\bin front of which\b/i, 'the words in their English order'],
]

function sourceFiles(folder: string): string[] {
  const paths = readdirSync(root + folder, { recursive: true }).map((path) => `${folder}/${path}`)
  return paths.filter((path) => /\.tsx?$/.test(path) && !/\.test\.tsx?$|__fixtures__/.test(path))
}

/** The comments of a source, each on one line; consecutive line comments are one. */
function commentsOf(path: string, source: string): string[] {
  const texts: string[] = []
  let lineEnd: number | undefined
  for (const { type, value, start, end } of parseSync(path, source).comments) {
    const text = value
      .replace(/^\*/, '')
      .replace(/\n\s*\*?/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
    const continues = type === 'Line' && lineEnd !== undefined && /^\n[ \t]*$/.test(source.slice(lineEnd, start))
    texts.push(continues ? `${texts.pop()} ${text}` : text)
    lineEnd = type === 'Line' ? end : undefined
  }
  return texts
}

function faultsOf(comment: string): string[] {
  return turned.flatMap(([pattern, instead]) => {
    const [found] = pattern.exec(comment) ?? []
    return found === undefined ? [] : [`"${found}" in "${comment}": write ${instead}`]
  })
}

test('comments are found in code, and not in its texts', () => {
  const source = 'const a = `// no /* no */ //`\n/* one */\n// so many\n// files\nconst b = /\\/* no *\\//\n/** At once. */'
  expect(commentsOf('example.ts', source)).toEqual(['one', 'so many files', 'At once.'])
})

test.each([
  'Files that are deleted after so many days.',
  'Starts at once.',
  'What a client reads.',
  'Ends it. Of several, the first.',
  'Deletes what is none of them.',
  'A file that is no model.',
  'The caller is told.',
  'The run goes on.',
  'Ends it, whatever happens.',
  'The token, in front of which no space is to be had.',
])('the comment "%s" is refused', (comment) => {
  expect(faultsOf(comment)).not.toEqual([])
})

test('comments of the product are in plain English', () => {
  const faults = ['src', 'web/src'].flatMap(sourceFiles).flatMap((path) =>
    commentsOf(path, readFileSync(root + path, 'utf8'))
      .flatMap(faultsOf)
      .map((fault) => `${path}: ${fault}`),
  )
  expect(faults).toEqual([])
})
