// npm run python-clients: installs the packages of test/python-clients/requirements.txt, unless they are there: 300 MB. Prints their folder.
import { join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensurePackages } from './python-packages.mjs'

await ensureNode()
process.stdout.write(`${ensurePackages('python-clients', join(root, 'test', 'python-clients', 'requirements.txt'))}\n`)
