import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const rowsOf = (heading: string) =>
  (read('ARCHITECTURE.md').split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => /^\| [^-]/.test(line))

/** What stands between backticks and is a path; one without a folder is in the folder that was named last. */
function pathsIn(row: string): string[] {
  let folder = ''
  return [...row.matchAll(/`([\w*./-]+)`/g)].flatMap(([, path = '']) => {
    if (!/\/|\.ts$/.test(path)) return []
    const full = path.includes('/') ? path : join(folder, path)
    folder = path.endsWith('/') ? path : dirname(full)
    return [full]
  })
}

/** Rooms are named without `src/`, and protocols' and engines' parts without their room. */
const starts = ['', 'src/', 'src/dialect/', 'src/engine/remote/', 'src/registry/']
const isThere = (path: string) => starts.some((start) => globSync(join(root, start, path)).length > 0)

describe('a stranger who reads ARCHITECTURE.md', () => {
  const places = rowsOf('Where does X go?').flatMap((row) => {
    const [, what = '', where = ''] = row.split('|')
    return pathsIn(where).map((path) => [what.trim(), path] as const)
  })

  test.each(places)('finds "%s" at %s', (_, path) => expect(isThere(path)).toBe(true))

  test('is shown more than twenty things', () => expect(new Set(places.map(([what]) => what)).size).toBeGreaterThan(20))

  test('sees each room of src', () => {
    const shown = rowsOf('Folders').map((row) => /`src\/([\w-]+)`/.exec(row)?.[1])
    const rooms = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(shown).toEqual(expect.arrayContaining(rooms.map(({ name }) => name)))
  })

  test('finds what it says to read first', () => {
    for (const row of rowsOf('Folders')) {
      const [, room = '', , first = ''] = row.split('|')
      const [file] = /(?<=\()[^)]+|(?<=`)[^`]+/.exec(first) ?? []
      if (file === undefined) continue
      const path = file.includes('/') ? file : join(room.replaceAll('`', '').trim(), file)
      expect(existsSync(join(root, path)), path).toBe(true)
    }
  })
})

describe('folders', () => {
  /** Documents have one place each, and decisions are numbered. */
  const flat = new Set(['docs', 'docs/inside/decisions'])

  test('have at most 35 files directly in them', () => {
    const counts = new Map<string, number>()
    for (const top of ['bench', 'docs', 'scripts', 'src', 'test', 'web']) {
      for (const entry of readdirSync(join(root, top), { recursive: true, withFileTypes: true })) {
        const folder = entry.parentPath.slice(root.length + 1)
        if (entry.isFile() && !/node_modules|dist/.test(folder)) counts.set(folder, (counts.get(folder) ?? 0) + 1)
      }
    }
    const large = [...counts].filter(([folder, count]) => count > 35 && !flat.has(folder))
    expect(large).toEqual([])
  })
})
