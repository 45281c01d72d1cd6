#!/usr/bin/env node
// Firefox, behind a relay of its WebDriver BiDi. Playwright asks for media features, which releases of Firefox do not know: the relay
// answers what is unknown of `emulation` as done.
import { spawn } from 'node:child_process'
import { WebSocket, WebSocketServer } from 'ws'

const child = spawn('firefox-esr', process.argv.slice(2), { stdio: ['ignore', 'inherit', 'pipe'] })
child.stderr.setEncoding('utf8').on('data', (text) => {
  const address = /WebDriver BiDi listening on (ws:\S+)/.exec(text)?.[1]
  if (address === undefined) process.stderr.write(text)
  else relay(address)
})
child.on('exit', (code) => process.exit(code ?? 1))

function relay(address) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => {
    process.stderr.write(`WebDriver BiDi listening on ws://127.0.0.1:${server.address().port}\n`)
  })
  server.on('connection', (client) => {
    const emulations = new Set()
    const browser = new WebSocket(`${address}/session`, { maxPayload: 2 ** 28, perMessageDeflate: false })
    const isOpen = new Promise((resolve) => browser.once('open', resolve))
    client.on('message', async (data) => {
      const { id, method } = JSON.parse(data)
      if (method.startsWith('emulation.')) emulations.add(id)
      await isOpen
      browser.send(data.toString())
    })
    browser.on('message', (data) => {
      const { id, error } = JSON.parse(data)
      const isUnknown = emulations.delete(id) && error === 'unknown command'
      client.send(isUnknown ? JSON.stringify({ type: 'success', id, result: {} }) : data.toString())
    })
    browser.on('close', () => client.close())
    client.on('close', () => browser.close())
  })
}
