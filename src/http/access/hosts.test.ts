import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { createHostCheck, readHosts } from './hosts.ts'

const check = createHostCheck({ hostname: 'Workshop', allowedHosts: ['models.example.com:8443'] })

describe('the host check', () => {
  test.each([
    'localhost',
    'LOCALHOST:7411',
    'localhost.',
    '127.0.0.1',
    '127.0.0.1:7411',
    '192.168.1.20:80',
    '[::1]',
    '[::1]:7411',
    '[2001:db8::1]:80',
    'workshop:7411',
    'models.example.com',
    'Models.Example.com:80',
  ])('%s is allowed', (host) => {
    expect(() => check(host)).not.toThrow()
  })

  test.each([
    'evil.example',
    'evil.example:7411',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'example.com',
    '',
    ':80',
    '[evil]',
    '[::1].evil.example',
    '*',
  ])('%j is refused', (host) => {
    expect(() => check(host)).toThrow(expect.objectContaining({ code: 'host-not-allowed' }))
  })

  test('the result does not depend on earlier hosts', () => {
    const fresh = createHostCheck({ hostname: 'workshop', allowedHosts: [] })
    for (let round = 0; round < 3; round++) {
      for (let last = 0; last < 40; last++) expect(() => fresh(`10.0.0.${last}:80`)).not.toThrow()
      for (const host of ['localhost', 'workshop:7411', `[::1]:${'0'.repeat(2000)}1`]) expect(() => fresh(host)).not.toThrow()
      for (const host of ['evil.example', '10.0.0.1.evil.example', '']) expect(() => fresh(host)).toThrow('not allowed')
    }
  })

  test('the message names the host and the setting', () => {
    expect(() => check('evil.example:80')).toThrow(/'evil\.example'.*server\.allowedHosts/)
  })

  test('a missing host header is allowed, because browsers always send one', () => {
    expect(() => check(undefined)).not.toThrow()
  })

  test('a star allows all names', () => {
    const open = createHostCheck({ hostname: 'workshop', allowedHosts: ['*'] })
    expect(() => open('anything.example')).not.toThrow()
  })
})

describe('the host of a request target', () => {
  test.each([
    ['/v1/models', undefined],
    ['//evil.example/v1/models', undefined],
    ['/?to=http://evil.example/', undefined],
    ['*', undefined],
    ['http://evil.example:80/v1/models', 'evil.example:80'],
    ['HTTP://evil.example', 'evil.example'],
    ['http://localhost?x', 'localhost'],
    ['http://localhost@evil.example/', 'localhost@evil.example'],
    ['http:///v1/models', ''],
  ])('%s: %s', (target, host) => {
    expect(readHosts({ headers: { host: 'h' }, originalUrl: target })).toEqual(['h', host])
  })

  test('is checked as the header is', async () => {
    const port = await openTestServer().listen()
    const statusOf = async (target: string, host: string) => {
      const socket = connect(port, '127.0.0.1')
      socket.write(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
      const [reply] = await once(socket, 'data')
      socket.destroy()
      return String(reply).slice(9, 12)
    }
    expect(await statusOf('http://evil.example/v1/models', 'localhost')).toBe('403')
    expect(await statusOf('http://localhost/v1/models', 'evil.example')).toBe('403')
    expect(await statusOf('http://localhost/v1/models', 'localhost')).toBe('200')
  })
})
