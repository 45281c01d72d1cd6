#!/usr/bin/env node
import { isSupportedNode, oldestNode } from './node-version.ts'

const { node } = process.versions

// With an older Node.js, what is imported here could fail before it says why.
if (isSupportedNode(node)) await import('./main.ts')
else {
  console.error(`dragoman: Node.js ${oldestNode} or later is needed, and this is ${node} (${process.execPath})`)
  process.exitCode = 1
}
