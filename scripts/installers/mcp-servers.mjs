// npm run mcp-servers: installs what test/e2e/server/mcp-*.test.ts connect to, unless it is there: the reference server and the conformance
// suite of test/mcp/package.json (55 MB), and the Python SDK of test/mcp/requirements.txt (33 MB). Prints their folders.
import { join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensureManifest } from './npm-programs.mjs'
import { ensurePackages } from './python-packages.mjs'

await ensureNode()
const folder = join(root, 'test', 'mcp')
const everything = ensureManifest('mcp-servers', join(folder, 'package.json'))
if (everything === undefined) process.exit(1)
process.stdout.write(`${everything}\n`)
process.stdout.write(`${ensurePackages('mcp-python', join(folder, 'requirements.txt'))}\n`)
