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
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        // Notes for contributors and records of benchmarks would hide what users look for.
        _render: (text, env, markdown) =>
          /^(?:bench|docs\/inside|src|test)\//.test(env.relativePath) ? '' : markdown.render(text, env),
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/docs/tutorial' },
      { text: 'Documents', link: '/docs/README' },
      { text: 'Settings', link: '/docs/reference/settings' },
      { text: 'Errors', link: '/docs/reference/errors' },
      { text: 'Protocols', link: '/docs/reference/protocols' },
    ],
    sidebar: [
      group('Start', docs('install', 'tutorial', 'guides/which-model', 'troubleshooting', 'check', 'glossary'), false),
      group(
        'Agents and clients',
        docs('guides/agents', 'guides/open-webui', 'guides/sillytavern', 'page', 'ollama', 'guides/coming-from'),
        false,
      ),
      group(
        'Requests',
        docs(
          'guides/structured-output',
          'tools',
          'guides/embeddings',
          'guides/pictures',
          'media',
          'guides/stop-means-stop',
          'cancelling',
          'guides/overnight',
        ),
      ),
      group(
        'Run a server',
        docs(
          'configuration',
          'keys',
          'operating',
          'guides/docker',
          'guides/behind-nginx',
          'lifecycle',
          'residency',
          'gpu',
          'tracing',
        ),
      ),
      group('Run a fleet', docs('guides/three-vllms', 'guides/kubernetes', 'clusters', 'fallback', 'versions')),
      group('Engines', all('docs/engines')),
      group('In your program', docs('library', 'guides/in-your-server', 'guides/test-an-agent')),
      {
        text: 'API of the library',
        collapsed: true,
        items: [
          { text: 'dragoman', link: '/docs/api/index' },
          { text: 'dragoman/testing', link: '/docs/api/testing' },
        ],
      },
      group('Reference', [
        ...docs(
          'reference/settings',
          'reference/cli',
          'reference/errors',
          'reference/limits',
          'reference/metrics',
          'reference/clients',
        ),
        ...docs('reference/strictness', 'reference/compatibility', 'reference/tool-formats', 'reference/templates', 'comparison'),
      ]),
      group('Fields of each protocol', [...docs('reference/protocols'), ...all('docs/reference/protocols')]),
      group('For contributors', ['ARCHITECTURE', 'CONTRIBUTING', 'SECURITY', ...all('docs/inside'), 'CHANGELOG']),
      group('Decisions', all('docs/inside/decisions')),
    ],
  },
}
