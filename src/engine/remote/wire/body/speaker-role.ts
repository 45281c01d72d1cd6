import type { Profile } from '../../servers/profile.ts'

type Role = 'system' | 'developer' | 'user'

/** The role that a server knows: templates of open models refuse `developer`, or drop its message. */
export function speakerRole(role: Role, { developerRole }: Pick<Profile, 'developerRole'>): Role {
  return role === 'developer' && developerRole !== true ? 'system' : role
}
