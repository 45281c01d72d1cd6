/** The names in a group of fields. A decoder whose wire is a `Pick` of them cannot read a field that its group lacks. */
export type NamesIn<Group> = Group extends ReadonlySet<infer Name> ? Name : never

/** Whether a body has any field of the group. Most bodies have few fields, and whole decoders have nothing to do for them. */
export function mentions(wire: object, group: ReadonlySet<string>): boolean {
  for (const name of Object.keys(wire)) if (group.has(name)) return true
  return false
}
