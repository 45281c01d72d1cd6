// npm run vulkan-build: installs llama.cpp's Vulkan build for test/e2e/engines/vulkan-build.test.ts, unless it is there: 150 MB. Prints its folder.
import { join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensureManifest } from './npm-programs.mjs'

await ensureNode()
const folder = ensureManifest('vulkan-build', join(root, 'test', 'gpu', 'package.json'))
if (folder === undefined) process.exit(1)
process.stdout.write(`${folder}\n`)
