import { describe, expect, test } from 'vitest'
import { createHostCheck } from './hosts.ts'

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

  test('the message names the host and the setting', () => {
    expect(() => check('evil.example:80')).toThrow(/'evil\.example'.*server\.allowedHosts/)
  })

  test('no host header at all is allowed, because browsers always send one', () => {
    expect(() => check(undefined)).not.toThrow()
  })

  test('a star allows every name', () => {
    const open = createHostCheck({ hostname: 'workshop', allowedHosts: ['*'] })
    expect(() => open('anything.example')).not.toThrow()
  })
})
