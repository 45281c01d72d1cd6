import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** The fields of protocols, compatibility and clients are lists of names, in the words of their protocols. */
const isRead = (path: string) =>
  path.endsWith('.md') && !/^(?:api|inside|\.vitepress|reference\/(?:protocols|compatibility|clients|strictness))\b/.test(path)
const pages = readdirSync(`${root}docs`, { recursive: true }).map(String).filter(isRead)
const text = ['README.md', 'SECURITY.md', ...pages.map((page) => `docs/${page}`)]
  .map((path) => readFileSync(root + path, 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, ''))
  .join('\n')

// Each is right once, and a habit when it is everywhere. The numbers go down only.
test.each([
  [', too', /, too\b/g, 0],
  ['of its own', /\bof (?:its|their|your|our) own\b/g, 11],
  ['says so', /\bsays so\b/g, 0],
  ['all the same', /\ball the same\b/g, 0],
  ['at once', /\bat once\b/g, 0],
  ['so that', /\bso that\b/g, 4],
  ['goes on', /\bgoes? on\b/g, 1],
  ['is away', /\bis away\b/g, 0],
  ['is waited for', /\bis waited for\b/g, 1],
  ['none of', /\bnone of\b/g, 3],
] as const)('documents have "%s" no more often than before', (_, habit, most) => {
  expect(Array.from(text.matchAll(habit), ({ index }) => text.slice(Math.max(0, index - 60), index + 20)).slice(most)).toEqual([])
})
