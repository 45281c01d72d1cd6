// npm run routers: installs the routers of test/routers for test/e2e/engines/routers.test.ts, unless they are there: 350 MB. Two of them bring a
// program of the same name, so each has a folder of its own. Prints the folders.
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensurePackages } from './python-packages.mjs'

await ensureNode()
const folder = join(root, 'test', 'routers')
for (const file of readdirSync(folder).filter((name) => name.endsWith('.txt')))
  process.stdout.write(`${ensurePackages(basename(file, '.txt'), join(folder, file))}\n`)
