// npm run docs:build: makes dist-docs, a site of the documents; docs:install only installs what makes it, VitePress (100 MB), outside the
// repository.
import { join } from 'node:path'
import { root, run } from './commands.mjs'
import { ensureNode } from './node.mjs'
import { ensureManifest } from './npm-programs.mjs'

await ensureNode()
const folder = ensureManifest('docs-site', join(root, 'test', 'docs-site', 'package.json'))
if (folder === undefined) process.exit(1)
if (process.argv[2] === 'build')
  process.exitCode = await run(process.execPath, [join(folder, 'node_modules/vitepress/bin/vitepress.js'), 'build', 'docs'])
