import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The titles of tests in a file of this repository, as its source writes them. */
export function testTitles(file: string): readonly string[] {
  const source = readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8')
  return [...source.matchAll(/(?:test|describe|\]\)|\))\(\s*(['"`])((?:(?!\1).)*)\1/g)].map(([, , title = '']) => title)
}
