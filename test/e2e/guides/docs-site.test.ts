import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorCodes } from '../../../src/contract/errors.ts'
import { installedFrom } from '../../support/process/test-tools.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const installed = installedFrom('docs-site', new URL('../../docs-site/package.json', import.meta.url))
const isInstalled = existsSync(installed)
const hint = isInstalled ? '' : ' (skipped: install VitePress with `npm run docs:install`)'

/** What the search of the site knows: pages by their sections. */
type Index = { search: (words: string, options: object) => readonly { readonly id: string }[] }

describe.skipIf(!isInstalled)(`the site of the documents${hint}`, () => {
  let site: string
  beforeAll(async () => {
    site = await mkdtemp(join(tmpdir(), 'dragoman-site-'))
    const args = [join(root, 'scripts/docs.mjs'), 'build', '--outDir', site]
    await promisify(execFile)(process.execPath, args, { cwd: root })
  }, 300_000)
  afterAll(() => rm(site, { recursive: true, force: true }))

  test('has no link, picture or script that leads nowhere, and nothing from elsewhere', () => {
    const dead: string[] = []
    for (const page of readdirSync(site, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.html'))) {
      const text = readFileSync(join(site, page), 'utf8')
      for (const [, target = ''] of text.matchAll(/ (?:href|src)="([^"#?]+)[^"]*"/g)) {
        if (/^(?:mailto|data):/.test(target)) continue
        const isElsewhere = /^https?:/.test(target)
        const path = target.startsWith('/') ? target : join('/', dirname(page), target)
        const isThere = ['', '.html', 'index.html'].some((end) => existsSync(join(site, `${path}${end}`)))
        if (isElsewhere ? / src="http/.test(text) : !isThere) dead.push(`${page}: ${target}`)
      }
    }
    expect(dead).toEqual([])
  })

  test.each([
    ['close an embedded server', 'docs/guides/in-your-server'],
    ['AppError code', 'docs/library'],
    ['createDragoman options', 'docs/api'],
    ['docker run', 'docs/guides/docker'],
    ['coming from ollama', 'docs/guides/coming-from'],
    ['litellm model_list', 'docs/guides/coming-from'],
    ['which model memory', 'docs/guides/which-model'],
    ['embeddings rerank', 'docs/guides/embeddings'],
    ['picture', 'docs/guides/pictures'],
    ['slot meaning', 'docs/glossary'],
    ['claude code', 'docs/guides/agents'],
    ['context too short', 'docs/guides/agents'],
    ['nginx', 'docs/guides/behind-nginx'],
    ['kubernetes', 'docs/guides/kubernetes'],
    ['backup restore', 'docs/operating'],
    ['make key', 'docs/keys'],
    ['json schema', 'docs/guides/structured-output'],
    ['mcp server', 'docs/tools'],
    ['cancel_id', 'docs/cancelling'],
    ['test agent without model', 'docs/guides/test-an-agent'],
  ])('finds the page for "%s" among the first ten', async (words, page) => {
    // As the search box of VitePress asks.
    const options = { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } }
    const found = (await searchIndex(site)).search(words, options).map(({ id }) => id.replace(/#.*/, ''))
    const pages = [...new Set(found)].slice(0, 10)
    expect(
      pages.some((id) => id.includes(`/${page}`)),
      pages.join(' '),
    ).toBe(true)
  })

  test('finds each code of an error, each setting and each metric', async () => {
    const index = await searchIndex(site)
    const settings = Array.from(
      readFileSync(join(root, 'docs/reference/settings.md'), 'utf8').matchAll(/^- `([^`]+)`/gm),
      ([, name]) => name,
    )
    const metrics = Array.from(
      readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8').matchAll(/^\| `(\w+)/gm),
      ([, name]) => name,
    )
    const wanted = [
      ...errorCodes.map((code) => [code, 'errors']),
      ...settings.map((name = '') => [name.split('.').at(-1) ?? '', 'settings']),
      ...metrics.map((name = '') => [name, 'metrics']),
    ] as const
    const isFound = ([words, page]: readonly [string, string] | readonly string[]) =>
      index.search(words ?? '', { combineWith: 'AND', prefix: true }).some(({ id }) => id.includes(`/docs/reference/${page}`))
    expect(wanted.length).toBeGreaterThan(200)
    expect(wanted.filter((each) => !isFound(each))).toEqual([])
  })
})

async function searchIndex(site: string): Promise<Index> {
  const file = readdirSync(join(site, 'assets/chunks')).find((name) => name.startsWith('@localSearchIndexroot'))
  const { default: json } = (await import(join(site, 'assets/chunks', file ?? ''))) as { readonly default: string }
  const MiniSearch = createRequire(join(installed, 'node_modules/vitepress/'))('minisearch') as {
    readonly loadJSON: (json: string, options: object) => Index
  }
  return MiniSearch.loadJSON(json, { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'] })
}
