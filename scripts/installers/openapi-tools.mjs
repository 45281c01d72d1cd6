// npm run openapi-tools: installs what judges /openapi.json outside the repository, unless it is there: the generator of clients of
// test/openapi/package.json (45 MB), and Schemathesis (60 MB). Prints their folders.
import { join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensureManifest } from './npm-programs.mjs'
import { ensurePackages } from './python-packages.mjs'

await ensureNode()
const folder = join(root, 'test', 'openapi')
const generator = ensureManifest('openapi-client', join(folder, 'package.json'))
if (generator === undefined) process.exit(1)
process.stdout.write(`${generator}\n`)
process.stdout.write(`${ensurePackages('schemathesis', join(folder, 'requirements.txt'))}\n`)
