// npm run lmstudio: installs LM Studio's SDK for JavaScript outside the repository, unless it is there, for the test that calls a server with it.
// Prints its folder.
import { join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensureManifest } from './npm-programs.mjs'

await ensureNode()
const folder = ensureManifest('lmstudio', join(root, 'test', 'lmstudio', 'package.json'))
if (folder === undefined) process.exit(1)
process.stdout.write(`${folder}\n`)
