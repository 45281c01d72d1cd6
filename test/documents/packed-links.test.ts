import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The files of the package; what is built is not looked into. */
let files: ReadonlySet<string>
beforeAll(() => {
  const list = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' })
  const [packed] = JSON.parse(list) as readonly { readonly files: readonly { readonly path: string }[] }[]
  files = new Set(packed?.files.map(({ path }) => path))
}, 120_000)

const withoutCode = (page: string) => page.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').replaceAll(/`[^`\n]*`/g, '')

/** The names of the headings of a page, as links have them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = page.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm)
  const seen = new Map<string, number>()
  const names = Array.from(headings, ([, title = '']) => {
    const name = title
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    return count === 0 ? name : `${name}-${count}`
  })
  return new Set(names)
}

test('no link in the package leads out of it, or to a heading that is not there', () => {
  const pages = [...files].filter((path) => path.endsWith('.md'))
  expect(pages).toContain('docs/guides/in-your-server.md')
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const dead = pages.flatMap((page) => {
    const links = withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g)
    return Array.from(links, ([, link, source]) => link ?? source ?? '')
      .filter((link) => {
        if (/^[a-z]+:/.test(link)) return false
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? page : normalize(join(dirname(page), path))
        if (!files.has(target)) return true
        return anchor !== undefined && target.endsWith('.md') && !anchorsOf(read(target)).has(anchor)
      })
      .map((link) => `${page}: ${link}`)
  })
  expect(dead).toEqual([])
})

test('pages for contributors stay in the repository', () => {
  const contributors = ['CONTRIBUTING.md', 'ARCHITECTURE.md']
  expect(contributors.filter((path) => files.has(path))).toEqual([])
  expect([...files].filter((path) => /^(?:docs\/inside|src|test|models\/training)\//.test(path))).toEqual([])
})
