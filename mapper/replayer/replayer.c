/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that `peet run --from` starts in place of the recorded one: linked with the runtime like every subject,
 * so that start-up, results, signals and progress are what they are in any run.  The host takes all events from the
 * trace, and never lets main() run.
 */
int main(void)
{
    return 0;
}
