// npm run docs:build [-- --outDir FOLDER]: makes a site of the documents, dist-docs; the reference of the library is made of the code.
// docs:install only installs what makes it, VitePress and TypeDoc (130 MB), outside the repository.
import { join } from 'node:path'
import { root, run } from './commands.mjs'
import { ensureManifest } from './installers/npm-programs.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
const folder = ensureManifest('docs-site', join(root, 'test', 'docs-site', 'package.json'))
if (folder === undefined) process.exit(1)

const modules = join(folder, 'node_modules')
const typedoc = [
  ...[join(modules, 'typedoc/bin/typedoc'), '--plugin', join(modules, 'typedoc-plugin-markdown/dist/index.js')],
  ...['--entryPoints', 'src/index.ts', '--entryPoints', 'src/testing.ts', '--router', 'module', '--out', 'docs/api'],
  ...['--readme', 'none', '--skipErrorChecking', '--excludeExternals', '--disableSources', '--hideBreadcrumbs'],
  ...['--hidePageHeader', '--logLevel', 'Error'],
]
const [command, ...options] = process.argv.slice(2)
if (command === 'build') {
  const site = [join(modules, 'vitepress/bin/vitepress.js'), 'build', 'docs', ...options]
  process.exitCode = (await run(process.execPath, typedoc)) || (await run(process.execPath, site))
}
