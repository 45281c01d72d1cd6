import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const folder = fileURLToPath(new URL('../../docs/', import.meta.url))
/** Lists that tests write from the code or hold to it: as long as what they list. */
const reference = new Set(
  ['cli', 'clients', 'compatibility', 'errors', 'settings', 'strictness', 'tool-formats'].map((name) => `reference/${name}.md`),
)

/** What somebody wrote for readers: neither notes for contributors, nor what TypeDoc makes in `api`. */
const documents = readdirSync(folder, { recursive: true })
  .map(String)
  .filter(
    (path) =>
      path.endsWith('.md') &&
      !/^(?:\.vitepress|api|inside)\b/.test(path) &&
      !reference.has(path) &&
      !path.startsWith('reference/protocols/'),
  )

/** Words have a letter or a digit: the lines of tables are none. What tests write between two marks does not count. */
function wordsOf(path: string): number {
  return readFileSync(`${folder}${path}`, 'utf8')
    .replaceAll(/^<!-- (\w+) -->$[\s\S]*?^<!-- \/\1 -->$/gm, '')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

test('the documents for users have at most 35,000 words outside of the generated reference', () => {
  expect(documents).toContain('tools.md')
  const words = documents.map((path) => [path, wordsOf(path)] as const).toSorted(([, one], [, other]) => other - one)
  const total = words.reduce((sum, [, count]) => sum + count, 0)
  const longest = words.slice(0, 5).map(([path, count]) => `${path}: ${count}`)
  expect(total, `shorten what repeats other documents; the longest are ${longest.join(', ')}`).toBeLessThanOrEqual(35_000)
})
