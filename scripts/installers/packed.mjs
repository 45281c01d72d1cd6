// npm run packed: fetches what tests of packages need, which then use no network: what an install of the packed package needs, and the npm and the
// Node.js of tarballs. Prints npm's cache.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode, installNode, version } from '../node.mjs'
import { ensureNpm, ensureNpmCache } from './npm-programs.mjs'

await ensureNode()
const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = ensureNpmCache('packed', JSON.stringify({ dependencies, peerDependencies, peerDependenciesMeta }))
const { failure } = await installNode(version, `fetching Node.js ${version} for the tests`)
if (folder === undefined || ensureNpm() === undefined || failure !== undefined) process.exit(1)
process.stdout.write(`${join(folder, 'cache')}\n`)
