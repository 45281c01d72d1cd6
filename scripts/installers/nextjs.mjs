// npm run nextjs: installs Next.js outside the repository (370 MB), unless it is there, for the test that builds the application of the guide.
// Prints its folder.
import { join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensureManifest } from './npm-programs.mjs'

await ensureNode()
const folder = ensureManifest('nextjs', join(root, 'test', 'nextjs', 'package.json'))
if (folder === undefined) process.exit(1)
process.stdout.write(`${folder}\n`)
