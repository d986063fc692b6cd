package store;

/** Reads and writes accounts. */
public class UserRepository {
    private final Connection connection;

    /** Finds an account by its address, or nothing. */
    public Optional<User> findByEmailAddress(String emailAddress) {
        return query("select * from users where lower(email) = lower(?)", emailAddress);
    }

    /** Marks an account as deleted; the row stays for thirty days. */
    public void softDelete(User user) {
        update("update users set deleted_at = now() where id = ?", user.id());
    }
}
