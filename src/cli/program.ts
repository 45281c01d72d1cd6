#!/usr/bin/env node
import { isSupportedNode, oldestNode } from './node-version.ts'

const { node } = process.versions

// With an older Node.js, what is imported here could fail before it says why.
if (isSupportedNode(node)) await import('./main.ts')
else {
  const other = 'in a checkout, `npm run -s dragoman -- COMMAND` brings its own'
  console.error(`dragoman: Node.js ${oldestNode} or later is needed, and this is ${node} (${process.execPath}); ${other}`)
  process.exitCode = 1
}
