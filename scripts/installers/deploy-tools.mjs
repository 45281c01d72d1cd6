// npm run deploy-tools: installs what judges the files of deploy/ for the tests, unless it is there: 70 MB. Prints its folder.
import { join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensurePackages } from './python-packages.mjs'

await ensureNode()
process.stdout.write(`${ensurePackages('deploy-tools', join(root, 'test', 'deploy', 'requirements.txt'))}\n`)
