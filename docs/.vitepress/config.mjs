import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

/** The first heading of a page. */
const titleOf = (page) => /^# (.+)$/m.exec(readFileSync(join(root, `${page}.md`), 'utf8'))?.[1].replaceAll(/[`*]/g, '') ?? page
const group = (text, pages, collapsed = true) => ({
  text,
  collapsed,
  items: pages.map((page) => ({ text: titleOf(page), link: `/${page}` })),
})
/** The pages of a folder, in the order of their names. */
const all = (folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => `${folder}/${name.slice(0, -3)}`)
const docs = (...names) => names.map((name) => `docs/${name}`)

/** What pages link to that is not a page: results of benchmarks, sources. */
function copyLinkedFiles({ outDir, pages }) {
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8')
    for (const [, target] of text.matchAll(/\]\(([^)#:\s]+)\)/g)) {
      const file = join(dirname(page), target)
      if (/\.(md|html)$/.test(file) || !existsSync(join(root, file)) || statSync(join(root, file)).isDirectory()) continue
      cpSync(join(root, file), join(outDir, file))
    }
  }
}

export default {
  title: 'Dragoman',
  description: 'One server for language models: every chat protocol in front, any engine behind.',
  lang: 'en',
  // The whole repository: pages link to READMEs beside the code.
  srcDir: '..',
  srcExclude: ['**/node_modules/**', '.*/**', 'dist*/**', 'test/**/!(README).md', '**/__*/**'],
  rewrites: { 'README.md': 'index.md' },
  outDir: '../dist-docs',
  cacheDir: '../.cache/docs',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  buildEnd: copyLinkedFiles,
  themeConfig: {
    search: { provider: 'local', options: { detailedView: true } },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/docs/tutorial' },
      { text: 'Errors', link: '/docs/errors' },
      { text: 'Settings', link: '/docs/settings' },
      { text: 'Protocols', link: '/docs/protocols' },
    ],
    sidebar: [
      group('Start', docs('tutorial', 'install', 'comparison', 'troubleshooting'), false),
      group('How to', all('docs/guides'), false),
      group(
        'Protocols',
        docs('protocols', 'strictness', 'errors', 'clients', 'ollama', 'compatibility', 'tool-formats', 'templates'),
      ),
      group('Engines', all('docs/engines')),
      group(
        'Features',
        docs('tools', 'media', 'cancelling', 'fallback', 'versions', 'lifecycle', 'residency', 'agents', 'page', 'library'),
      ),
      group(
        'Operation',
        docs('operating', 'settings', 'configuration', 'keys', 'limits', 'cli', 'clusters', 'metrics', 'tracing', 'gpu'),
      ),
      {
        text: 'Library',
        collapsed: true,
        items: [
          { text: 'dragoman', link: '/docs/api/index' },
          { text: 'dragoman/testing', link: '/docs/api/testing' },
        ],
      },
      group('Inside', [
        'ARCHITECTURE',
        'CONTRIBUTING',
        'SECURITY',
        ...docs('how-a-request-travels', 'design/parser-decisions', 'performance', 'claims', 'recorded-runs', 'releasing'),
        'CHANGELOG',
      ]),
      group('Decisions', all('docs/decisions')),
    ],
  },
}
