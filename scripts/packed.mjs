// npm run packed: fetches what an install of the packed package needs, so that tests install it without a network. Prints npm's cache of it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './commands.mjs'
import { ensureNode } from './node.mjs'
import { ensureNpmCache } from './npm-programs.mjs'

await ensureNode()
const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = ensureNpmCache('packed', JSON.stringify({ dependencies, peerDependencies, peerDependenciesMeta }))
if (folder === undefined) process.exit(1)
process.stdout.write(`${join(folder, 'cache')}\n`)
